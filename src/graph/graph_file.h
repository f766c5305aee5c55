// Graph file: a graph as we write it ourselves, small enough to be sent and kept: every dimension
// bound, no names of tensors, no weights. Format: docs/formats/model-graphs.md.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

// The same graph gives the same text. One that was made of a told step is written as that.
std::string WriteGraph(const Graph& graph);

// Trusts nothing. The graph is the one that was written, but for names; it is not restored again
// (restore.h). Another batch than the file's is refused: its dimensions are bound.
core::Result<Graph> ReadGraphFile(std::string_view bytes, const std::string& name,
                                  const Binding& binding);

// Which graph this is: 32 hexadecimal digits. Of the text that WriteGraph gave.
std::string DigestOfGraph(std::string_view text);

}  // namespace sharewell::graph
