// torch.export archives (.pt2): docs/formats/model-graphs.md. Weights are never read.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

core::Result<Graph> ReadPt2(std::string_view bytes, const std::string& name,
                            const Binding& binding);

}  // namespace sharewell::graph
