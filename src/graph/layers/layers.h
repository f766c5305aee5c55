// Layer list: a small JSON that any script can write to describe a network, layer after layer.
// Format: docs/formats/model-graphs.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

core::Result<Graph> ReadLayers(std::string_view bytes, const std::string& name,
                               const Binding& binding);

// The types of layers, in the order of the documentation.
std::vector<std::string> LayerTypes();

}  // namespace sharewell::graph
