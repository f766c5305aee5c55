// What exporters spell out and frameworks run as one kernel. Each function tries the operator at
// `at` as the centre of its pattern and rewrites what it finds; true when it did. All of them ask
// that no one else reads the values in between.
#pragma once

#include "graph/fuse/rewriter.h"

namespace sharewell::graph::fuse {

// Softmax between two products: scales on queries, keys or scores, masks, guards against rows
// without keys, dropout and casts on the way belong to it. Becomes kAttention of q, k, v, masks.
bool FuseAttention(Rewriter& rewriter, OpIndex at);

// Erf, Tanh, Sigmoid, HardSigmoid or Clip of a polynomial of x, times x: GELU, SiLU, Mish,
// HardSwish, quick GELU. Becomes kActivation of x.
bool FuseActivation(Rewriter& rewriter, OpIndex at);

// Square root of a mean square: layer and RMS normalisation with what scales and shifts it. Becomes
// kNorm of x, scale?, bias?.
bool FuseNorm(Rewriter& rewriter, OpIndex at);

// Batch normalisation whose mean and variance the graph computes beside it, as exporters write what
// a training framework's kernel does itself. Becomes kNorm of x, scale, bias.
bool FuseStatistics(Rewriter& rewriter, OpIndex at);

// Instance normalisation with a scale and a shift of its own behind it: how group norms come.
bool FuseScaledNorm(Rewriter& rewriter, OpIndex at);

// A product and the bias vector added to it.
bool FuseBias(Rewriter& rewriter, OpIndex at);

}  // namespace sharewell::graph::fuse
