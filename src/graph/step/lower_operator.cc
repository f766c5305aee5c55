// What each told operator becomes: its kind, operands and arithmetic.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "graph/pt2/arithmetic.h"
#include "graph/step/lowering.h"

namespace sharewell::graph {
namespace {

using pt2::Rule;
using What = ToldClass::What;
using As = ToldUse::As;

constexpr double kLeastFill = 65536;  // as torch.export's: smaller ones cost less than a launch

DType DTypeOf(ToldType type) {
  switch (type) {
    case ToldType::kF64:
    case ToldType::kC64:
    case ToldType::kC128:
      return DType::kDouble;
    case ToldType::kF32:
    case ToldType::kTf32:
      return DType::kFloat;
    case ToldType::kF16:
    case ToldType::kBf16:
      return DType::kHalf;
    case ToldType::kI64:
      return DType::kInt64;
    case ToldType::kI32:
    case ToldType::kI16:
      return DType::kInt32;
    case ToldType::kI8:
    case ToldType::kU8:
    case ToldType::kB1:
    case ToldType::kF8:
      return DType::kByte;
    case ToldType::kOther:
      break;
  }
  return DType::kUnknown;
}

std::int64_t Whole(double value) {
  return static_cast<std::int64_t>(std::clamp(value, 1.0, static_cast<double>(kLargestDim)));
}

// Elements of a pool's window.
std::int64_t Window(const ToldOperator& op, const ToldTensor* in, const ToldTensor* out) {
  const std::vector<double>* window = op.Arg("kernel_size");
  if (window == nullptr || window->empty()) {
    return in != nullptr && out != nullptr ? Whole(in->Elements() / std::max(1.0, out->Elements()))
                                           : 1;
  }
  double product = 1;
  for (const double size : *window) product *= std::clamp(size, 1.0, 1e3);
  const std::size_t space = in != nullptr && in->dims.size() > 2 ? in->dims.size() - 2 : 1;
  if (window->size() == 1 && space > 1) {
    product = std::pow(product, static_cast<double>(std::min<std::size_t>(space, 3)));
  }
  return Whole(product);
}

bool SameDims(const ToldTensor* a, const ToldTensor* b) {
  return a != nullptr && b != nullptr && a->dims == b->dims;
}

}  // namespace

Role StepLowering::RoleOf(const ToldTensor& tensor, bool weight_place) const {
  if (tensor.role == ToldRole::kTrained) return Role::kWeight;
  if (tensor.role == ToldRole::kFrozen) return Role::kConstant;
  if (!weight_place || !IsFloat(tensor.type)) return Role::kActivation;
  if (trained_dims_.contains(tensor.dims)) return Role::kWeight;
  return frozen_dims_.contains(tensor.dims) ? Role::kConstant : Role::kActivation;
}

TensorId StepLowering::Add(const ToldTensor& tensor, Role role) {
  Tensor out;
  out.dtype = DTypeOf(tensor.type);
  out.role = role;
  out.dims = tensor.dims;
  graph_.tensors.push_back(std::move(out));
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

bool StepLowering::TakesCasts(std::size_t i) const {
  const ToldClass& is = classes_[i];
  if (is.what == What::kForward && IsProduct(is.aten.rule)) return true;
  return (is.what == What::kForward || is.what == What::kBackward) &&
         (is.aten.kind == Kind::kConv || is.aten.kind == Kind::kDeconv ||
          is.aten.kind == Kind::kAttention);
}

void StepLowering::Push(std::size_t i, Op op) {
  if (!(op.macs <= kMostMacs)) op.macs = kMostMacs;
  graph_.ops.push_back(std::move(op));
  order_.push_back(i);
}

Op StepLowering::NewOp(std::size_t i, Kind kind, As as) const {
  Op op;
  op.kind = kind;
  op.type = At(i).op;
  ToldUse use;
  use.as = as;
  use.count = belongings_->Left(i);
  use.channels_last = At(i).channels_last;
  use.in_place = NameOf(At(i)).in_place;
  if (const ToldTensor* in = TensorAt(At(i).in, 0)) use.half = IsHalf(in->type);
  const ToldTensor* out = TensorAt(At(i).out, 0);
  if (as == As::kForward && out != nullptr && IsFloat(out->type)) use.nodes = 1;
  op.told = use;
  return op;
}

void StepLowering::Lower(std::size_t i) {
  const ToldOperator& op = At(i);
  if (belongings_->Left(i) <= 0 || op.pass == ToldPass::kUpdate) return;
  const ToldClass& is = classes_[i];
  if (is.what == What::kHost || is.what == What::kLoss || is.what == What::kUpdate) return;
  if (is.what == What::kUnknown) return LowerUnknown(i);
  if (is.what == What::kBackward) return LowerBackward(i);
  if (IsProduct(is.aten.rule)) return LowerProduct(i);
  const As again = IsForward(i) ? As::kForward : As::kAgain;
  switch (is.aten.kind) {
    case Kind::kConv:
    case Kind::kDeconv:
      return LowerConv(i, again, 0, 1, TensorAt(op.out, 0));
    case Kind::kAttention:
      return LowerAttention(i, again, 0, TensorAt(op.out, 0));
    case Kind::kRecurrent:
      return LowerRecurrent(i, again);
    case Kind::kView:
      // Autograd's own in the backward pass: the host's time for them is the node's.
      if (IsForward(i)) LowerPlain(i, Kind::kView, As::kForward);
      return;
    case Kind::kNorm:
    case Kind::kSoftmax:
    case Kind::kActivation:
    case Kind::kPool:
    case Kind::kEmbedding:
    case Kind::kDropout:
    case Kind::kResample:
      return LowerPlain(i, is.aten.kind, again);
    default:
      break;
  }
  if (IsNothing(i)) return;
  LowerPlain(i, is.aten.kind, IsForward(i) ? As::kForward : As::kPlain);
}

// Less than a launch, or counted elsewhere.
bool StepLowering::IsNothing(std::size_t i) const {
  const ToldOperator& op = At(i);
  const ToldTensor* out = TensorAt(op.out, 0);
  if (IsArrival(op)) return IsForward(i);
  if (classes_[i].aten.rule == Rule::kFill) {
    return out == nullptr || (out->Elements() < kLeastFill && op.in.empty());
  }
  // A norm's count of batches.
  return out != nullptr && out->dims.empty() && !IsFloat(out->type);
}

void StepLowering::LowerUnknown(std::size_t i) {
  Op op = NewOp(i, Kind::kUnknown, IsForward(i) ? As::kForward : As::kPlain);
  op.why_unknown = "not an operator that we know; the bytes that it reads and writes are counted";
  AddAll(op, i);
  Push(i, std::move(op));
}

// Of a list's equal tensors one that is as large as all.
void StepLowering::AddAll(Op& op, std::size_t i) {
  const auto add = [&](const std::vector<ToldOperand>& from, std::vector<TensorId>& to,
                       bool results) {
    for (const ToldOperand& operand : from) {
      for (ToldTensor tensor : operand.tensors) {
        const Role role = results ? Role::kActivation : RoleOf(tensor, false);
        if (tensor.many > 1 && tensor.dims.size() < kMostDims) {
          tensor.dims.insert(tensor.dims.begin(), tensor.many);
        }
        to.push_back(Add(tensor, role));
      }
      if (operand.absent() && !results) to.push_back(kAbsent);
    }
  };
  add(At(i).in, op.inputs, false);
  add(At(i).out, op.outputs, true);
}

void StepLowering::LowerPlain(std::size_t i, Kind kind, As as) {
  Op op = NewOp(i, kind, as);
  AddAll(op, i);
  if (kind == Kind::kPool) op.kernel = Window(At(i), TensorAt(At(i).in, 0), TensorAt(At(i).out, 0));
  // What these leave beside their result is small, or counted with it.
  const bool one = kind == Kind::kNorm || kind == Kind::kPool || kind == Kind::kDropout ||
                   kind == Kind::kSoftmax || kind == Kind::kActivation;
  if (one && op.outputs.size() > 1) op.outputs.resize(1);
  if (op.outputs.empty() && !op.inputs.empty() && op.inputs[0] != kAbsent) {
    op.outputs.push_back(Add(FirstOf(At(i)), Role::kActivation));  // in place
  }
  Push(i, std::move(op));
}

void StepLowering::LowerProduct(std::size_t i) {
  const auto product = ProductOf(At(i), classes_[i].aten.rule);
  if (!product) return LowerUnknown(i);
  // Those of the backward pass are counted with the forward ones of their size.
  if (!IsForward(i) && belongings_->HasForward(product->key)) return;
  const As as = IsForward(i) ? As::kForward : As::kAgain;
  Op op = NewOp(i, Kind::kMatMul, as);
  op.macs = product->macs;
  op.told->half = IsHalf(product->a->type);
  const bool matrix = product->b->dims.size() <= 2;
  op.inputs.push_back(Add(*product->a, RoleOf(*product->a, false)));
  op.inputs.push_back(Add(*product->b, RoleOf(*product->b, matrix)));
  if (product->added != nullptr)
    op.inputs.push_back(Add(*product->added, RoleOf(*product->added, true)));
  op.outputs.push_back(Add(*product->out, Role::kActivation));
  const double gradients = belongings_->Gradients(product->key);
  op.told->nodes = gradients > 0 ? 1 : 0;
  belongings_->AddCasts(*op.told, {product->a, product->b, product->added}, IsForward(i));
  if (as != As::kForward || gradients <= 0) return Push(i, std::move(op));
  Op back = op;
  back.told->as = As::kBackward;
  back.told->gradients = gradients;
  back.told->casts = back.told->cast_elements = back.told->nodes = 0;
  belongings_->AddCasts(*back.told, {product->a, product->b, product->added}, false);
  Push(i, std::move(op));
  Push(i, std::move(back));
}

void StepLowering::LowerConv(std::size_t i, As as, std::size_t x_at, std::size_t weight_at,
                             const ToldTensor* out) {
  const ToldTensor* x = TensorAt(At(i).in, x_at);
  const ToldTensor* weight = TensorAt(At(i).in, weight_at);
  if (x == nullptr || weight == nullptr || out == nullptr || weight->dims.size() < 3 ||
      x->dims.size() < 3) {
    return LowerUnknown(i);
  }
  const std::vector<double>* told = At(i).Arg("transposed");
  const bool transposed = classes_[i].aten.kind == Kind::kDeconv ||
                          (told != nullptr && !told->empty() && (*told)[0] != 0);
  Op op = NewOp(i, transposed ? Kind::kDeconv : Kind::kConv, as);
  const auto macs =
      transposed ? pt2::DeconvMacs(x->dims, weight->dims) : pt2::ConvMacs(out->dims, weight->dims);
  op.macs = macs.value_or(0);
  double window = 1;
  for (std::size_t d = 2; d < weight->dims.size(); ++d) {
    window *= static_cast<double>(weight->dims[d]);
  }
  op.kernel = Whole(window);
  const double channels = static_cast<double>(x->dims[1]);
  const double a_group =
      static_cast<double>(std::max<std::int64_t>(1, weight->dims[transposed ? 0 : 1]));
  if (const auto* groups = At(i).Arg("groups"); groups != nullptr && !groups->empty()) {
    op.groups = Whole((*groups)[0]);
  } else {
    op.groups = transposed ? 1 : Whole(channels / a_group);
  }
  if (const auto* dilation = At(i).Arg("dilation"); dilation != nullptr && !dilation->empty()) {
    op.dilation = Whole((*dilation)[0]);
  }
  op.told->half = IsHalf(x->type);
  op.inputs = {
      Add(*x, RoleOf(*x, false)),
      Add(*weight, frozen_dims_.contains(weight->dims) && !trained_dims_.contains(weight->dims)
                       ? Role::kConstant
                       : Role::kWeight)};
  const ToldTensor* bias = as == As::kBackward ? nullptr : TensorAt(At(i).in, weight_at + 1);
  if (bias != nullptr) op.inputs.push_back(Add(*bias, Role::kWeight));
  op.outputs.push_back(Add(*out, Role::kActivation));
  if (as == As::kBackward) {
    double gradients = 0;
    for (std::size_t k = 0; k < At(i).out.size() && k < 2; ++k) {
      const ToldTensor* result = TensorAt(At(i).out, k);
      gradients += SameDims(result, x) || SameDims(result, weight) ? 1 : 0;
    }
    op.told->gradients = gradients;
  }
  belongings_->AddCasts(*op.told, {x, weight, bias}, IsForward(i));
  Push(i, std::move(op));
}

void StepLowering::LowerAttention(std::size_t i, As as, std::size_t first, const ToldTensor* out) {
  const ToldTensor* q = TensorAt(At(i).in, first);
  const ToldTensor* k = TensorAt(At(i).in, first + 1);
  const ToldTensor* v = TensorAt(At(i).in, first + 2);
  if (q == nullptr || k == nullptr || v == nullptr || out == nullptr) return LowerUnknown(i);
  const auto macs = pt2::AttentionMacs(q->dims, k->dims, v->dims,
                                       classes_[i].aten.rule == Rule::kAttentionByToken);
  if (!macs) return LowerUnknown(i);
  Op op = NewOp(i, Kind::kAttention, as);
  op.macs = *macs;
  op.told->half = IsHalf(q->type);
  for (const ToldTensor* tensor : {q, k, v}) op.inputs.push_back(Add(*tensor, Role::kActivation));
  op.outputs.push_back(Add(*out, Role::kActivation));
  belongings_->AddCasts(*op.told, {q, k, v}, IsForward(i));
  Push(i, std::move(op));
}

// Of a whole sequence: every matrix among the operands but the states is a weight. Under autocast
// the layer is given copies of them, in a list, all of them columns: what is longer than a bias.
void StepLowering::LowerRecurrent(std::size_t i, As as) {
  const auto flag = [&](std::string_view name, double otherwise) {
    const auto* value = At(i).Arg(name);
    return value != nullptr && !value->empty() ? (*value)[0] : otherwise;
  };
  constexpr double kMostGates = 4;
  const double bias = kMostGates * flag("hidden_size", 0);
  const ToldTensor* x = nullptr;
  double weights = 0;
  std::vector<ToldTensor> matrices;
  for (const ToldOperand& operand : At(i).in) {
    for (const ToldTensor& tensor : operand.tensors) {
      const bool ordinary = tensor.role == ToldRole::kOrdinary;
      if (x == nullptr && !operand.is_list && tensor.dims.size() >= 2 && ordinary) x = &tensor;
      if (tensor.dims.size() != 2) continue;
      const bool copy = operand.is_list && bias > 0 && tensor.Elements() > bias;
      if (ordinary && !copy) continue;
      weights += tensor.Elements() * static_cast<double>(tensor.many);
      matrices.push_back(tensor);
    }
  }
  if (x == nullptr || weights == 0) return LowerUnknown(i);
  Op op = NewOp(i, Kind::kRecurrent, as);
  const double rows =
      x->Elements() / static_cast<double>(std::max<std::int64_t>(1, x->dims.back()));
  op.macs = rows * weights;
  const bool batch_first = flag("batch_first", 0) != 0 && x->dims.size() == 3;
  const double layers = std::clamp(flag("num_layers", 1), 1.0, 1e4);
  op.steps = Whole(static_cast<double>(x->dims[batch_first ? 1 : 0]) * layers *
                   (flag("bidirectional", 0) != 0 ? 2 : 1));
  op.told->half = IsHalf(x->type);
  op.inputs.push_back(Add(*x, Role::kActivation));
  for (const ToldTensor& matrix : matrices) {
    op.inputs.push_back(
        Add(matrix, matrix.role == ToldRole::kOrdinary ? Role::kActivation : Role::kWeight));
  }
  if (const ToldTensor* out = TensorAt(At(i).out, 0)) {
    op.outputs.push_back(Add(*out, Role::kActivation));
  }
  Push(i, std::move(op));
}

// Operands as the forward operator has them, as far as they are told.
void StepLowering::LowerBackward(std::size_t i) {
  const ToldOperator& told = At(i);
  const Kind kind = classes_[i].aten.kind;
  const ToldTensor* gradient = TensorAt(told.in, 0);
  const ToldTensor* result = TensorAt(told.out, 0);
  if (kind == Kind::kConv || kind == Kind::kDeconv) {
    // cuDNN's and others' have the input first.
    const bool input_first =
        told.op.find("cudnn") != std::string::npos || told.op.find("mkldnn") != std::string::npos;
    return LowerConv(i, As::kBackward, input_first ? 0 : 1, 2,
                     TensorAt(told.in, input_first ? 1 : 0));
  }
  if (kind == Kind::kAttention) return LowerAttention(i, As::kBackward, 1, gradient);
  if (kind == Kind::kRecurrent) return LowerRecurrent(i, As::kBackward);
  if (gradient == nullptr) return LowerUnknown(i);
  Op op = NewOp(i, kind, As::kBackward);
  if (kind == Kind::kEmbedding && result != nullptr) {
    op.inputs.push_back(Add(*result, Role::kWeight));
    op.outputs.push_back(Add(*gradient, Role::kActivation));
  } else if ((kind == Kind::kPool || kind == Kind::kResample) && result != nullptr) {
    op.inputs.push_back(Add(*result, Role::kActivation));
    op.outputs.push_back(Add(*gradient, Role::kActivation));
    if (kind == Kind::kPool) op.kernel = Window(told, result, gradient);
  } else {
    op.inputs.push_back(Add(*gradient, Role::kActivation));
    op.outputs.push_back(Add(*gradient, Role::kActivation));
  }
  Push(i, std::move(op));
}

}  // namespace sharewell::graph
