// Memory: the peak a training or inference step needs on the GPU, by walking the graph forward and
// back and freeing what nobody needs any more. What the allocator, the context and the libraries
// take on top is predict's business, except for the breakdown's workspace.
#pragma once

#include "graph/flow.h"
#include "graph/graph.h"
#include "graph/run.h"

namespace sharewell::graph {

struct Memory {  // bytes
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double saved = 0;        // activations kept for the backward pass, at its beginning
  double transient = 0;    // the most that lives beyond those at the peak
  double copies = 0;       // half-precision copies of the weights
  double inputs = 0;       // batches on the device: this step's and the next
  double workspace = 0;    // a guess at what convolution libraries want for their largest layer
  double activations = 0;  // all activations of the forward pass, freed or not

  double Peak() const {
    return weights + gradients + optimizer + saved + transient + copies + inputs + workspace;
  }
};

Memory MemoryOf(const Graph& graph, const Flow& flow, const Run& run);

}  // namespace sharewell::graph
