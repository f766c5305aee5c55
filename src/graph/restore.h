// Restore: from the graph an exporter wrote to the one a framework runs in training.
//
// Exporters fold batch normalisations into convolutions, merge equal weights (all freshly made
// layer norms share one scale), and spell fused kernels out operator by operator. Restore undoes
// the first two and fuses the third, so that costs are those of the kernels that run.
#pragma once

#include "graph/graph.h"

namespace sharewell::graph {

// In this order:
//   1. Behind each convolution marked folded_norm a kNorm is put back (restored = true); its
//      weights count in hidden_params.
//   2. What one kernel does becomes one operator: attention, GELU and its kin, layer and RMS
//      normalisation, a product and its bias. Only where nothing else reads the values in between.
//   3. Weights that an exporter merged are counted again in hidden_params (ONNX only; models that
//      share whole layers on purpose are left alone).
// The sum of macs, the inputs and the outputs' shapes stay as they are. Never fails: what does not
// fit a pattern is left as it is. Call it once: counting merged weights twice would double them.
void Restore(Graph& graph);

}  // namespace sharewell::graph
