// The model's inputs with every dimension known: what the file fixes, and what the user binds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/onnx/wire.h"

namespace sharewell::graph::onnx {

struct BoundInputs {
  std::vector<Dims> dims;                                      // of each input, in order
  std::unordered_map<std::string_view, std::int64_t> symbols;  // names of the file, with values
  bool open_batch = false;  // a leading dimension was open, and is the batch now
  // All inputs begin with this same fixed number: the batch the model was exported at.
  std::optional<std::int64_t> fixed_batch;
};

// Leading dimensions that are open are the batch, and so is every dimension of the same name, and
// every one whose name says so ("batch", "N"). Others must be bound by name, or, where they have no
// name, as INPUT.INDEX. What is left open is a usage error that lists it; so is a name in `binding`
// that the file has not.
core::Result<BoundInputs> BindInputs(const std::vector<const wire::ValueInfo*>& inputs,
                                     const Binding& binding);

}  // namespace sharewell::graph::onnx
