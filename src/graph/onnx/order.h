// The order nodes can run in. Exporters write it; other tools do not always keep it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/onnx/wire.h"

namespace sharewell::graph::onnx {

struct Running {
  std::vector<std::size_t> order;
  std::size_t reads = 0;  // names that were looked at, subgraphs' included
};

// Indices of `nodes` so that each stands behind those that make its operands, subgraphs' included;
// otherwise in the file's order. Operands that none of them makes do not matter here. A cycle is a
// usage error that names a node on it. May throw protozero::exception (subgraphs are parsed).
core::Result<Running> RunningOrder(std::span<const wire::Node> nodes);

}  // namespace sharewell::graph::onnx
