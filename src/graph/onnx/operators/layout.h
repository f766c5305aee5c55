// Operators that only rearrange, cut or join tensors: no arithmetic on their elements.
#pragma once

#include <limits>

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
void FourierShape(Node& node);
void CenterCropPadShape(Node& node);

// Of dims from `from` to before `to`, each at most kLargestDim; saturates far above what any of
// them may be.
std::int64_t ProductOf(const Dims& dims, std::size_t from = 0,
                       std::size_t to = std::numeric_limits<std::size_t>::max());

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
