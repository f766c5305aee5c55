// Inspection: what a model file holds and costs, before anything is run. Plain data for reports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/run.h"

namespace sharewell::advice {

struct LayerRow {
  std::string name, type, kind;
  std::string shape;  // of its first output: "32x64x56x56"; empty: not known
  double macs = 0;
  double flops_forward = 0, flops_backward = 0;
  double bytes_forward = 0, bytes_backward = 0;
  double kernels_forward = 0, kernels_backward = 0;  // launches
  double calls_forward = 0, calls_backward = 0;      // operators the host dispatches
  std::int64_t groups = 1, window = 1, steps = 1;    // as graph::Op's groups, kernel, steps
  std::string rate_class;                            // predict::OpClass; empty: none
  double contraction = 0;                            // multiply-adds an output element
  double params = 0;
  bool restored = false;
  std::int64_t dilation = 1;
  std::string operands;  // predict::OperandsOf
};

struct UncostedRow {
  std::string name, type, why;
};

struct Inspection {
  std::string file, format, producer;
  std::string precision, optimizer;  // optimizer: empty for inference
  std::int64_t batch = 1;
  double macs_per_sample = 0;
  double params = 0;
  std::size_t nodes = 0;  // operators, restored ones included
  double flops_forward = 0, flops_backward = 0, flops_update = 0;  // a step
  double bytes_forward = 0, bytes_backward = 0, bytes_update = 0;
  double kernels = 0;  // launches a step
  double kernels_forward = 0, kernels_backward = 0, kernels_update = 0;
  double view_calls = 0;      // operators without a kernel that the host dispatches all the same
  double weight_tensors = 0;  // that are trained
  double float_inputs = 0, other_inputs = 0;  // elements a batch
  double intensity = 0;                       // FLOPs a byte, over the whole step
  double activations = 0;                     // bytes made by the forward pass
  double input_bytes = 0;                     // a batch
  // The peak by liveness and what it is made of; bytes.
  double peak = 0, weights = 0, gradients = 0, optimizer_states = 0, saved = 0, transient = 0,
         workspace = 0;
  std::map<std::string, std::size_t> counts;  // operators by kind
  std::vector<LayerRow> layers;               // those that do work, in order
  std::vector<UncostedRow> uncosted;
  bool told = false;  // made of a told step: what is uncosted counts by the bytes it touches
};

Inspection Inspect(const graph::Graph& graph, const graph::Run& run, std::string file);

}  // namespace sharewell::advice
