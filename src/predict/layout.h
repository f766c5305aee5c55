// Layout: which tensors lie in memory with their channels innermost, though their dimensions say
// otherwise: a transposed view of (sample, height, width, channel), and what is computed of it. On
// these, convolutions with a channel a group run in other kernels.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace sharewell::predict {

// By tensor.
std::vector<bool> ChannelsLast(const graph::Graph& graph);

// By operator: elements of operands that a framework copies into order first, because a transpose
// has left them in another and the operator (a product with a weight, a norm, a softmax, a reshape)
// cannot read them so; or that it reads across the order of the other operand.
std::vector<double> CopiedBefore(const graph::Graph& graph);

}  // namespace sharewell::predict
