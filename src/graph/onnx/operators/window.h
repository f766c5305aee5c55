// Operators that slide a window over space, and those that change its resolution: convolutions,
// pools, resizing.
#pragma once

#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {

void ConvShape(Node& node);  // Conv, ConvInteger, QLinearConv, FusedConv, DeformConv
void ConvWork(const Node& node, Op& op);
void DeconvShape(Node& node);
void DeconvWork(const Node& node, Op& op);
void PoolShape(Node& node);
void PoolWork(const Node& node, Op& op);
void GlobalPoolShape(Node& node);
void GlobalPoolWork(const Node& node, Op& op);
void UnpoolShape(Node& node);
void RoiShape(Node& node);     // RoiAlign, MaxRoiPool
void ResizeShape(Node& node);  // Resize, Upsample
void GridSampleShape(Node& node);
void AffineGridShape(Node& node);
void DepthToSpaceShape(Node& node);
void SpaceToDepthShape(Node& node);
void Col2ImShape(Node& node);

}  // namespace sharewell::graph::onnx
