// Any bytes as an ONNX file: a graph whose parts fit together, before and after restoring it, or
// refused with a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/onnx/onnx.h"
#include "graph/restore.h"
#include "must_hold.h"

namespace {

using sharewell::fuzz::MustHold;

using namespace sharewell::graph;

double CheckedMacs(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.dims) continue;
    MustHold(tensor.dims->size() <= kMostDims);
    for (const std::int64_t dim : *tensor.dims) MustHold(dim >= 0);
  }
  std::vector<bool> made(graph.tensors.size(), false);
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = graph.tensors[i].role != Role::kActivation;
  }
  double macs = 0;
  for (const Op& op : graph.ops) {
    MustHold(op.macs >= 0 && std::isfinite(op.macs) && op.steps >= 0 && op.kernel >= 0);
    MustHold((op.kind == Kind::kUnknown) == !op.why_unknown.empty());
    macs += op.macs;
    for (const TensorId id : op.inputs) {
      MustHold(id == kAbsent || static_cast<std::size_t>(id) < graph.tensors.size());
    }
    for (const TensorId id : op.outputs) {
      if (id != kAbsent) made[static_cast<std::size_t>(id)] = true;
    }
  }
  for (const TensorId id : graph.outputs) MustHold(static_cast<std::size_t>(id) < made.size());
  return macs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  LooksLikeOnnx(bytes);
  for (const std::int64_t batch : {1, 3}) {
    auto graph = ReadOnnx(bytes, "fuzz", {.batch = batch, .named = {}});
    if (!graph) {
      MustHold(!graph.error().message.empty());
      return 0;
    }
    const double before = CheckedMacs(*graph);
    Restore(*graph);
    const double after = CheckedMacs(*graph);
    MustHold(std::abs(before - after) <= 1e-9 * before);
  }
  return 0;
}
