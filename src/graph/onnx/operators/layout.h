// Operators that only rearrange, cut, join or make tensors: no arithmetic on their elements.
#pragma once

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

void ReshapeShape(Node& node);
void FlattenShape(Node& node);
void SqueezeShape(Node& node);
void UnsqueezeShape(Node& node);
void TransposeShape(Node& node);
void ConcatShape(Node& node);  // also QLinearConcat
void SplitShape(Node& node);
void SliceShape(Node& node);
void PadShape(Node& node);
void TileShape(Node& node);
void ExpandShape(Node& node);
void GatherShape(Node& node);
void GatherElementsShape(Node& node);
void GatherNdShape(Node& node);
void OneHotShape(Node& node);
void TopKShape(Node& node);
void ShapeShape(Node& node);
void SizeShape(Node& node);
void ConstantShape(Node& node);         // knows its numbers too
void ConstantOfShapeShape(Node& node);  // likewise
void RangeShape(Node& node);
void NonZeroShape(Node& node);  // where its operand is known
void RandomShape(Node& node);
void RandomLikeShape(Node& node);  // also EyeLike, Bernoulli
void MultinomialShape(Node& node);
void CenterCropPadShape(Node& node);
void WindowFunctionShape(Node& node);  // HannWindow, HammingWindow, BlackmanWindow

// How Slice cuts each axis of `dims`: none where starts, ends or steps are not known.
struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
};
std::optional<std::vector<Cut>> CutsOf(const Node& node);
// Slice without a step: a view. With one, or where that is not known: a copy.
bool CutsInPlace(const Node& node);

// Sizes along the split axis; none where they are not known.
std::optional<Dims> PartsOf(const Node& node);

}  // namespace sharewell::graph::onnx
