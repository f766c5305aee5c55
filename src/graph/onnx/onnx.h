// Reads ONNX files: opset 7 and later, from any exporter, the weights left where they are.
//
//   const auto graph = ReadOnnx(file.text(), "bert.onnx", {.batch = 32, .named = {{"seq", 128}}});
//   Restore(*graph);  // restore.h: what training runs, and what runs as one kernel
//
// Pure and reentrant; the bytes need only live during the call, and pages of weights are never
// touched. Failure is always a usage error: it names the file, the place, and what to do.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

// The graph at `binding`'s batch. A file whose inputs all begin with one fixed number was exported
// at that batch: it is read anew with the batch asked for, or, where its reshapes spell the old one
// out, scaled. Graph::batch is the batch that the shapes are for; it differs from the one asked for
// only where the inputs do not agree on what their batch is. Operators that cannot be costed are
// in the graph as kUnknown with a reason, not left out. `name` stands in messages.
core::Result<Graph> ReadOnnx(std::string_view bytes, const std::string& name,
                             const Binding& binding);

// Whether the first bytes could be an ONNX file; cheap, and wrong only about files made to deceive.
bool LooksLikeOnnx(std::string_view bytes);

}  // namespace sharewell::graph
