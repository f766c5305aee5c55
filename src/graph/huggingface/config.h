// Hugging Face config.json: the sizes of a known architecture, from which its graph is built layer
// by layer. Families and defaults: docs/formats/model-graphs.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

// binding.named may give "seq", the tokens of a sample (and "target", those of a decoder's).
core::Result<Graph> ReadConfig(std::string_view bytes, const std::string& name,
                               const Binding& binding);

// The values of model_type that it reads, in alphabetical order.
std::vector<std::string> ConfigTypes();

}  // namespace sharewell::graph
