#include "graph/step/classify.h"

#include <algorithm>
#include <array>

namespace sharewell::graph {
namespace {

using What = ToldClass::What;
using pt2::Rule;

// Losses but log-softmax, which may be a model's own end (lower.cc looks).
constexpr std::array<std::string_view, 14> kLosses = {"nll_loss",
                                                      "nll_loss_forward",
                                                      "nll_loss2d",
                                                      "mse_loss",
                                                      "nll_loss2d_forward",
                                                      "l1_loss",
                                                      "smooth_l1_loss",
                                                      "binary_cross_entropy",
                                                      "binary_cross_entropy_with_logits",
                                                      "huber_loss",
                                                      "soft_margin_loss",
                                                      "kl_div",
                                                      "_ctc_loss",
                                                      "ctc_loss"};

// Several layers in one call, whose weights are operands.
constexpr std::array<std::string_view, 7> kLayers = {
    "_cudnn_rnn", "mkldnn_rnn_layer", "miopen_rnn", "lstm", "gru", "rnn_tanh", "rnn_relu"};
// The cells' pointwise part: products are operators of their own.
constexpr std::array<std::string_view, 2> kCells = {"_thnn_fused_lstm_cell",
                                                    "_thnn_fused_gru_cell"};

template <std::size_t N>
bool IsOf(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "threshold_backward" is "threshold", "_softmax_backward_data" is "_softmax"; empty: no backward
// operator.
std::string_view ForwardName(std::string_view op) {
  const auto at = op.rfind("_backward");
  if (at == std::string_view::npos || at == 0) return {};
  const std::string_view rest = op.substr(at + 9);
  if (!rest.empty() && rest != "_data" && rest != "_impl" && rest != "_input") return {};
  return op.substr(0, at);
}

ToldClass Backward(std::string_view forward, std::string_view overload) {
  if (IsOf(kLosses, forward)) return {What::kLoss, {}};
  if (forward == "embedding_dense" || forward == "_embedding_bag_dense") {
    return {What::kBackward, {Rule::kPlain, Kind::kEmbedding}};
  }
  if (IsOf(kLayers, forward)) return {What::kBackward, {Rule::kSequence, Kind::kRecurrent}};
  if (IsOf(kCells, forward)) return {What::kForward, {Rule::kPlain, Kind::kElementwise}};
  const auto known = pt2::AtenOf(forward, overload);
  if (!known) return {};
  switch (known->kind) {
    case Kind::kView:  // select, slice, unfold: zeros, and the gradient put into them
    case Kind::kMove:
      return {What::kForward, {Rule::kPlain, Kind::kMove}};
    case Kind::kElementwise:
    case Kind::kReduction:
      return {What::kForward, {Rule::kPlain, Kind::kElementwise}};
    default:
      return {What::kBackward, *known};
  }
}

}  // namespace

ToldName NameOf(const ToldOperator& told) {
  ToldName name;
  std::string_view text = told.op;
  const auto first = text.find('.');
  const auto last = text.rfind('.');
  std::string_view op = text;
  if (first != std::string_view::npos) {
    const bool own = text.substr(0, first) == "aten";
    if (last > first) {
      name.overload = std::string(text.substr(last + 1));
      op = text.substr(own ? first + 1 : 0, last - (own ? first + 1 : 0));
    } else if (own) {
      op = text.substr(first + 1);
    }
  }
  if (op.size() > 1 && op.back() == '_' && !op.ends_with("__")) {
    name.in_place = true;
    op.remove_suffix(1);
  }
  name.op = std::string(op);
  return name;
}

ToldClass ClassOf(const ToldOperator& told) {
  const ToldName name = NameOf(told);
  const std::string_view op = name.op;
  if (op.starts_with("_foreach") || op.starts_with("_fused_adam") || op.starts_with("_fused_sgd") ||
      op.starts_with("_fused_adagrad") || op.starts_with("_amp_") ||
      op.starts_with("_multi_tensor")) {
    return {What::kUpdate, {}};
  }
  if (op.starts_with("empty") || op.starts_with("new_empty") || op.starts_with("profiler.") ||
      op.starts_with("prim") || op == "detach" || op == "record_stream" || op == "set_data" ||
      op == "_has_compatible_shallow_copy_type" || op == "lift_fresh" || op == "lift") {
    return {What::kHost, {}};
  }
  if (told.view) return {What::kForward, {Rule::kPlain, Kind::kView}};
  if (IsOf(kLosses, op)) return {What::kLoss, {}};
  if (IsOf(kLayers, op)) return {What::kForward, {Rule::kSequence, Kind::kRecurrent}};
  if (IsOf(kCells, op)) return {What::kForward, {Rule::kPlain, Kind::kElementwise}};
  // Collectives run beside everything else, on links that a Run does not know.
  if (Contains(op, "c10d")) return {What::kHost, {}};
  if (const auto known = pt2::AtenOf(op, name.overload)) {
    return {known->kind == Kind::kHost ? What::kHost : What::kForward, *known};
  }
  if (const auto forward = ForwardName(op); !forward.empty()) {
    return Backward(forward, name.overload);
  }
  return {};
}

}  // namespace sharewell::graph
