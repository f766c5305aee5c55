// What graph.h promises of every graph, whichever reader made it; for the fuzzers of the readers.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/result.h"
#include "graph/graph.h"

inline void CheckPromises(const sharewell::core::Result<sharewell::graph::Graph>& read) {
  namespace graph = sharewell::graph;
  if (!read) {
    if (read.error().message.empty()) __builtin_trap();
    return;
  }
  const auto exists = [&](graph::TensorId id) {
    return id >= 0 && static_cast<std::size_t>(id) < read->tensors.size();
  };
  if (read->ops.size() > graph::kMostNodes) __builtin_trap();
  for (const graph::Tensor& tensor : read->tensors) {
    if (!tensor.dims) continue;
    if (tensor.dims->size() > graph::kMostDims) __builtin_trap();
    for (const auto dim : *tensor.dims) {
      if (dim < 0 || dim > graph::kLargestDim) __builtin_trap();
    }
  }
  for (const auto id : read->inputs) {
    if (!exists(id)) __builtin_trap();
  }
  for (const auto id : read->outputs) {
    if (!exists(id)) __builtin_trap();
  }
  for (const graph::Op& op : read->ops) {
    for (const auto id : op.inputs) {
      if (id != graph::kAbsent && !exists(id)) __builtin_trap();
    }
    for (const auto id : op.outputs) {
      if (id != graph::kAbsent && !exists(id)) __builtin_trap();
    }
    if (!(op.macs >= 0) || std::isinf(op.macs)) __builtin_trap();
    if (op.groups < 1 || op.kernel < 1 || op.steps < 1) __builtin_trap();
    const bool unknown = op.kind == graph::Kind::kUnknown;
    if (unknown == op.why_unknown.empty()) __builtin_trap();
  }
}
