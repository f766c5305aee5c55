// The flags that say how a model is run, shared by `inspect` and `predict`, and what they name.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "advice/prediction.h"
#include "catalogue/gpu_catalogue.h"
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
  // Those that the user gave; REQUIRES: the app of Add() lives. Workers are no flag of these.
  advice::PredictionGiven Given() const;

 private:
  const CLI::Option* batch_option_ = nullptr;
  const CLI::Option* precision_option_ = nullptr;
  const CLI::Option* optimizer_option_ = nullptr;
};

// Our GPU models, and those of the file where one is named (--gpu-catalogue).
core::Result<catalogue::GpuCatalogue> CatalogueWith(const std::string& file);

}  // namespace sharewell::cli
