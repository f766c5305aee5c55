// Flow: what training adds to a forward graph. Which tensors carry gradients, who reads whom, and
// how wide each element is under mixed precision.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/run.h"

namespace sharewell::graph {

struct Flow {
  std::vector<bool> needs_grad;   // by TensorId: some weight lies before it (weights too)
  std::vector<int> width;         // by TensorId: bytes an element as it is stored
  std::vector<int> consumers;     // by TensorId: operators that read it (host arithmetic apart)
  std::vector<TensorId> storage;  // by TensorId: the tensor whose memory it shares (views)
  std::vector<int> casts;         // by op: activations it must first copy to half precision
  std::vector<int> weight_casts;  // by op: weights it must first copy to half precision

  double Bytes(const Graph& graph, TensorId id) const {
    return id == kAbsent ? 0
                         : Elements(graph.tensors[static_cast<std::size_t>(id)]) *
                               width[static_cast<std::size_t>(id)];
  }
};

Flow FlowOf(const Graph& graph, const Run& run);

// Trained numbers, those of restored layers included.
double Params(const Graph& graph);

// Runs in half precision under autocast.
bool IsHalf(const Op& op, const Run& run);

// A sum or difference: hands its gradient on and keeps nothing for it.
bool IsSum(const Op& op);
// Batch normalisation, which keeps the precision it is given; the others of its kind do not.
bool IsBatchNorm(const Op& op);

bool IsWeight(const Graph& graph, TensorId id);

}  // namespace sharewell::graph
