// The flags that say how a model is run, shared by `inspect` and `predict`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/run.h"

namespace sharewell::cli {

struct ModelFlags {
  std::string batch = "1";
  std::vector<std::string> bind;
  std::string precision = "fp32";
  std::string optimizer = "sgd";

  void Add(CLI::App& app);
  core::Result<graph::Binding> Binding() const;
  core::Result<graph::Run> Run() const;
};

}  // namespace sharewell::cli
