// Operators that make tensors: constants, ranges, random numbers, and what they tell of a shape.
#pragma once

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

void ShapeShape(Node& node);
void SizeShape(Node& node);
void ConstantShape(Node& node);         // knows its numbers too
void ConstantOfShapeShape(Node& node);  // likewise
void RangeShape(Node& node);
void NonZeroShape(Node& node);  // where its operand is known
void RandomShape(Node& node);
void RandomLikeShape(Node& node);  // also EyeLike, Bernoulli
void MultinomialShape(Node& node);
void WindowFunctionShape(Node& node);  // HannWindow, HammingWindow, BlackmanWindow

}  // namespace sharewell::graph::onnx
