// Arithmetic on known numbers: what turns Shape, Gather, Mul, Concat into a Reshape's target. Each
// runs after the shape rule and only where every operand it reads is known; results above
// kMostNumbers elements stay unknown.
#pragma once

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

void FoldCopy(Node& node);    // Identity, Reshape, Squeeze, Unsqueeze, Flatten, Cast, Dropout
void FoldUnary(Node& node);   // Neg, Abs, Floor, Ceil, Round, Sqrt, Not, Reciprocal, Sign
void FoldBinary(Node& node);  // Add ... Pow, comparisons, And, Or, Xor, Min, Max of two or more
void FoldWhere(Node& node);
void FoldGather(Node& node);
void FoldConcat(Node& node);
void FoldSlice(Node& node);
void FoldSplit(Node& node);
void FoldTranspose(Node& node);
void FoldExpand(Node& node);
void FoldTile(Node& node);
void FoldReduce(Node& node);  // sum, product, min, max, mean over all or one axis
void FoldCumSum(Node& node);
void FoldScatterNd(Node& node);

}  // namespace sharewell::graph::onnx
