// Walk: what an operator takes that neither arithmetic nor bandwidth tells of. Batch norms over
// images and convolutions with a channel a group give each channel to one block, however much of
// the GPU is left. Products go tile by tile, and a tile takes its time however short the sums are
// and however few of its columns there are.
#pragma once

#include <array>

#include "core/gpu_model.h"
#include "graph/graph.h"
#include "graph/run.h"
#include "predict/op_class.h"

namespace sharewell::predict {

// Of an operator with this first operand and this output.
struct Walked {
  OpClass of = OpClass::kNone;
  bool batch_norm = false, transposed = false, half = false;
  bool weighted = false;  // a product with a weight
  graph::Dims input, output;
  double window = 1;
};

// Seconds forward and backward; 0 where nothing is walked. Paces are PyTorch's kernels' on an H200;
// those that fill a GPU go by its plain arithmetic.
std::array<double, 2> WalkOf(const Walked& walked, double plain_tflops);

std::array<double, 2> WalkOf(const graph::Graph& graph, const graph::Op& op, OpClass of,
                             const graph::Run& run, const core::GpuModel& gpu);

}  // namespace sharewell::predict
