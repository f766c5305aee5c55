// From a node of the file to an operator of the graph: which kind it is here, and its work.
#pragma once

#include "graph/graph.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators/rules.h"

namespace sharewell::graph::onnx {

// The operator for `node`, whose results are set. `rule` null: not an operator of ours. Never
// fails: what cannot be costed is kUnknown, with the reason in words.
Op Lowered(const Node& node, const Rule* rule, const Values& values);

// Initializers that this operator trains become weights: float vectors and larger that it reads as
// parameters. Running statistics, scales of quantisation and resizing stay constants.
void MarkWeights(const Op& op, Values& values);

// Operands that only show weights in another layout (transposed, sliced and joined again, as LSTMs
// are exported) are replaced by the weights themselves, so that a layer is known by its parameters.
// A second weight behind one operand goes to the end.
void ReadWeightsDirectly(Op& op, const Values& values, const std::vector<Op>& ops);

}  // namespace sharewell::graph::onnx
