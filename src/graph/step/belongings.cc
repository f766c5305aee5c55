#include "graph/step/belongings.h"

namespace sharewell::graph {

using pt2::Rule;
using What = ToldClass::What;

Belongings::Belongings(const ToldStep& step, const std::vector<ToldClass>& classes)
    : step_(step), classes_(classes) {
  left_.reserve(step.operators.size());
  for (const ToldOperator& op : step.operators) left_.push_back(static_cast<double>(op.count));
  for (std::size_t i = 0; i < left_.size(); ++i) Fill(i);
  for (std::size_t i = 0; i < left_.size(); ++i) Take(i);
}

void Belongings::Fill(std::size_t i) {
  const ToldOperator& op = step_.operators[i];
  const ToldTensor* in = TensorAt(op.in, 0);
  const ToldTensor* out = TensorAt(op.out, 0);
  if (classes_[i].what != What::kForward || op.pass == ToldPass::kUpdate || in == nullptr ||
      out == nullptr) {
    return;
  }
  const bool forward = op.pass == ToldPass::kForward;
  const pt2::Aten& aten = classes_[i].aten;
  if (aten.rule == Rule::kCast && IsHalf(in->type) != IsHalf(out->type) && IsFloat(in->type) &&
      IsFloat(out->type)) {
    // Forward products read half; backward ones give gradients back in full.
    (forward == IsHalf(out->type) ? product_casts_[forward] : other_casts_[forward])
        .Add(in->Elements(), i, left_[i]);
  } else if (forward && aten.kind == Kind::kView) {
    views_.Add(in->Elements(), i, left_[i]);
  } else if (!forward && NameOf(op).op == "sum") {
    sums_.Add(in->Elements(), i, left_[i]);
  } else if (IsProduct(aten.rule)) {
    if (const auto product = ProductOf(op, aten.rule)) {
      (forward ? forward_products_ : backward_products_)[product->key] += left_[i];
    }
  }
}

// Operators that others bring with them are taken out before any is lowered.
void Belongings::Take(std::size_t i) {
  const ToldOperator& op = step_.operators[i];
  const auto count = static_cast<double>(op.count);
  if (op.pass == ToldPass::kUpdate) return;
  const bool forward = op.pass == ToldPass::kForward;
  const ToldTensor* in = TensorAt(op.in, 0);
  const Kind kind = classes_[i].aten.kind;
  if (classes_[i].what == What::kLoss) {
    if (in == nullptr) return;
    other_casts_[forward].Take(in->Elements(), count, left_);
    product_casts_[forward].Take(in->Elements(), count, left_);
    return;
  }
  if (classes_[i].what != What::kForward && classes_[i].what != What::kBackward) return;
  if (kind == Kind::kNorm || kind == Kind::kSoftmax) {
    if (in != nullptr) other_casts_[forward].Take(in->Elements(), count, left_);
    return;
  }
  if (!forward || !IsProduct(classes_[i].aten.rule)) return;
  const auto product = ProductOf(op, classes_[i].aten.rule);
  if (!product) return;
  // Its operands and its result are looked at as matrices; its bias's gradient is a sum.
  for (const ToldTensor* tensor : {product->a, product->b, product->out}) {
    views_.Take(tensor->Elements(), count, left_);
  }
  if (product->added != nullptr) sums_.Take(product->out->Elements(), count, left_);
}

void Belongings::AddCasts(ToldUse& use, std::initializer_list<const ToldTensor*> operands,
                          bool forward) {
  for (const ToldTensor* tensor : operands) {
    if (tensor == nullptr || !use.half || !(use.count > 0)) continue;
    const double taken = product_casts_[forward].Take(tensor->Elements(), use.count, left_);
    use.casts += taken / use.count;
    use.cast_elements += tensor->Elements() * taken / use.count;
  }
}

double Belongings::Gradients(const ProductKey& key) const {
  const auto forward = forward_products_.find(key);
  const auto backward = backward_products_.find(key);
  if (forward == forward_products_.end() || backward == backward_products_.end()) return 0;
  return backward->second / forward->second;
}

}  // namespace sharewell::graph
