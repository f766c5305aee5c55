// Way: how a loop is written (torch.compile, channels innermost, fp16, adapters) changes the
// kernels that its operators run in. What these take over what the rates (rates.h) are of.
#pragma once

#include "graph/graph.h"
#include "graph/run.h"
#include "predict/op_class.h"

namespace sharewell::predict {

// Whether the operator's images lie with their channels innermost because the loop has them so, and
// not for a transpose or two within the model: the first convolution reads its images so
// (ImagesChannelsLast), and a compiler brings those of all into that order by itself.
bool ImagesChannelsLast(const graph::Graph& graph);
bool WrittenChannelsLast(const graph::Graph& graph, const graph::Op& op, bool images_last,
                         bool compiled);

// 1 for a loop of plain PyTorch. `channels_last`: as WrittenChannelsLast says.
double KernelsTake(const graph::Graph& graph, const graph::Op& op, OpClass of,
                   graph::Precision precision, bool channels_last, bool compiled);

}  // namespace sharewell::predict
