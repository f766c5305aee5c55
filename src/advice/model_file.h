// Opens a model file: ONNX, torch.export, Hugging Face config.json or our layer list.
#pragma once

#include <string>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::advice {

// A folder stands for the config.json inside it. Weights are mapped, never read. `shown` stands in
// messages for what is read; empty: the path.
core::Result<graph::Graph> ReadModel(const std::string& path, const graph::Binding& binding,
                                     const std::string& shown = {});

}  // namespace sharewell::advice
