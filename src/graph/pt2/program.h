// An exported program: the JSON inside a torch.export archive.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph::pt2 {

// `name` is the archive's, for messages.
core::Result<Graph> ReadProgram(std::string_view text, const std::string& name,
                                const Binding& binding);

// Exports made for one batch size: the dimension that was the batch, wherever it went, becomes
// `batch`, and the arithmetic grows with it. REQUIRES: exported > 0.
void Rebatch(Graph& graph, std::int64_t exported, std::int64_t batch);

}  // namespace sharewell::graph::pt2
