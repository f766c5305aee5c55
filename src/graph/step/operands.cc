#include "graph/step/operands.h"

#include <algorithm>
#include <array>

#include "graph/step/classify.h"

namespace sharewell::graph {

using pt2::Rule;

bool IsHalf(ToldType type) { return type == ToldType::kF16 || type == ToldType::kBf16; }

const ToldTensor* TensorAt(const std::vector<ToldOperand>& operands, std::size_t i) {
  return i < operands.size() && !operands[i].is_list && !operands[i].absent()
             ? &operands[i].tensors[0]
             : nullptr;
}

ToldTensor FirstOf(const ToldOperator& op) {
  for (const ToldOperand& operand : op.in) {
    if (!operand.absent()) return operand.tensors[0];
  }
  return {};
}

bool IsArrival(const ToldOperator& op) {
  const ToldTensor* in = TensorAt(op.in, 0);
  const ToldTensor* out = TensorAt(op.out, 0);
  return in != nullptr && out != nullptr && in->type == out->type && in->dims == out->dims &&
         NameOf(op).op == "_to_copy";
}

bool IsProduct(Rule rule) { return rule == Rule::kProduct || rule == Rule::kAddedProduct; }

std::optional<ToldProduct> ProductOf(const ToldOperator& op, Rule rule) {
  ToldProduct product;
  const std::size_t first = rule == Rule::kAddedProduct ? 1 : 0;
  product.a = TensorAt(op.in, first);
  product.b = TensorAt(op.in, first + 1);
  product.added = TensorAt(op.in, rule == Rule::kAddedProduct ? 0 : 2);
  product.out = TensorAt(op.out, 0);
  if (product.a == nullptr || product.b == nullptr) return std::nullopt;
  if (product.out == nullptr) product.out = product.added;  // in place
  if (product.out == nullptr || product.a->dims.empty()) return std::nullopt;
  const auto depth = static_cast<double>(product.a->dims.back());
  product.macs = std::min(kMostMacs, product.out->Elements() * depth);
  const double wide =
      product.out->dims.empty() ? 1.0 : static_cast<double>(product.out->dims.back());
  const double batch = product.a->dims.size() > 2 && product.b->dims.size() > 2
                           ? static_cast<double>(product.a->dims[0])
                           : 1.0;
  std::array<double, 3> sizes = {depth, wide,
                                 product.out->Elements() / std::max(1.0, wide * batch)};
  std::sort(sizes.begin(), sizes.end());
  product.key = {batch, sizes[0], sizes[1], sizes[2]};
  return product;
}

}  // namespace sharewell::graph
