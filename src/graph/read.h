// The front door of the model readers: bytes in, graph out, whatever the format. It goes by the
// contents, never by the file's name.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

inline constexpr std::int64_t kLargestBatch = std::int64_t{1} << 24;

// ONNX, torch.export (.pt2), Hugging Face config.json, our layer list, a told step (step/), or a
// graph that we wrote (graph_file.h); restored to what training runs (restore.h). `name` is the
// file's, for messages. What is no model file is refused with what it looks like and what to do
// about it.
core::Result<Graph> Read(std::string_view bytes, const std::string& name, const Binding& binding);

}  // namespace sharewell::graph
