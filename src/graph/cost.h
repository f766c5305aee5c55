// Cost: arithmetic, memory traffic and kernel launches of every operator, forward and backward, and
// of the optimizer. Counts, not times: what a GPU makes of them is predict's business.
#pragma once

#include <vector>

#include "graph/flow.h"
#include "graph/graph.h"
#include "graph/run.h"

namespace sharewell::graph {

struct Work {
  double flops = 0;
  double bytes = 0;    // read and written, each tensor once a pass
  double kernels = 0;  // launches
  double calls = 0;    // framework operators the host dispatches

  Work& operator+=(const Work& other) {
    flops += other.flops;
    bytes += other.bytes;
    kernels += other.kernels;
    calls += other.calls;
    return *this;
  }
};

struct OpCost {
  Work forward, backward;
  bool half = false;    // runs on half-precision copies
  bool tensor = false;  // matrix units can do it
};

struct Cost {
  std::vector<OpCost> ops;     // as Graph::ops
  Work forward, backward;      // sums over ops
  Work update;                 // the optimizer
  double macs = 0;             // forward, as usually published: convolutions and products
  double params = 0;           // trained numbers, those of restored layers included
  double weights = 0;          // trained tensors
  double input_bytes = 0;      // what the loader brings a step
  double uncosted = 0;         // operators that could not be costed
  double output_elements = 0;  // what the loss reads
};

Cost CostOf(const Graph& graph, const Flow& flow, const Run& run);

}  // namespace sharewell::graph
