#include "predict/operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sharewell::predict {

std::string OperandsOf(const graph::Graph& graph, const graph::Flow& flow, const graph::Op& op) {
  std::string out;
  for (const graph::TensorId id : op.inputs) {
    if (!out.empty()) out += ' ';
    if (id == graph::kAbsent) {
      out += '-';
      continue;
    }
    const auto at = static_cast<std::size_t>(id);
    const graph::Tensor& tensor = graph.tensors[at];
    if (!tensor.dims) {
      out += '?';
    } else if (tensor.dims->empty()) {
      out += '1';
    } else {
      out += fmt::format("{}", fmt::join(*tensor.dims, "x"));
    }
    out += fmt::format(":{}", flow.width[at]);
    if (flow.needs_grad[at]) out += 'g';
    if (tensor.role == graph::Role::kWeight) out += 'w';
    if (tensor.role == graph::Role::kConstant) out += 'c';
    const bool whole = tensor.dtype == graph::DType::kInt64 ||
                       tensor.dtype == graph::DType::kInt32 || tensor.dtype == graph::DType::kByte;
    if (whole) out += 'i';
  }
  return out;
}

}  // namespace sharewell::predict
