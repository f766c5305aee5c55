#include "graph/onnx/operators/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "graph/onnx/operators/pointwise.h"

namespace sharewell::graph::onnx {
namespace {

double Product(const Dims& dims) {
  double product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

// Negative, which no shape may hold, where it is too large for one.
std::int64_t Times(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 || (b > 0 && a > kLargestDim / b) ? -1 : a * b;
}

double Real(std::int64_t number) { return static_cast<double>(number); }

bool Quantized(const Node& node) { return node.type() == "QLinearMatMul"; }

// The operands of a matrix product, as plain MatMul would have them.
struct Factors {
  Dims a, b;
};

std::optional<Factors> FactorsOf(const Node& node) {
  const Dims* a = node.Shape(0);
  const Dims* b = node.Shape(Quantized(node) ? 3 : 1);
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return std::nullopt;
  Factors factors{*a, *b};
  if (node.Int("transA", 0) != 0 && a->size() > 1)
    std::swap(factors.a.end()[-1], factors.a.end()[-2]);
  if (node.Int("transB", 0) != 0 && b->size() > 1)
    std::swap(factors.b.end()[-1], factors.b.end()[-2]);
  return factors;
}

}  // namespace

void MatMulShape(Node& node) {
  const DType type = node.type() == "MatMulInteger"          ? DType::kInt32
                     : node.type() == "MatMulIntegerToFloat" ? DType::kFloat
                                                             : node.Type(0);
  node.SetType(0, type);
  const auto factors = FactorsOf(node);
  if (!factors) return;
  auto [a, b] = *factors;
  const bool row = a.size() == 1;  // a vector counts as one row, or one column
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) {
    return node.Clash(
        fmt::format("it multiplies {} by {}", TextOf(factors->a), TextOf(factors->b)));
  }
  const std::int64_t rows = a[a.size() - 2];
  const std::int64_t columns = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  auto out = Stretched(a, b);
  if (!out) {
    return node.Clash(
        fmt::format("it multiplies {} by {}", TextOf(factors->a), TextOf(factors->b)));
  }
  if (!row) out->push_back(rows);
  if (!column) out->push_back(columns);
  node.Set(0, *std::move(out), type);
}

void MatMulWork(const Node& node, Op& op) {
  const auto factors = FactorsOf(node);
  const Dims* out = node.Result(0);
  if (factors && out != nullptr) op.macs = Product(*out) * Real(factors->a.back());
}

void NBitMatMulShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* a = node.Shape(0);
  if (a == nullptr || a->empty()) return;
  Dims out = *a;
  out.back() = node.Int("N", -1);
  node.Set(0, std::move(out));
}

void NBitMatMulWork(const Node& node, Op& op) {
  if (const Dims* out = node.Result(0)) {
    op.macs = Product(*out) * Real(std::clamp<std::int64_t>(node.Int("K", 0), 0, kLargestDim));
  }
}

void GemmShape(Node& node) {
  node.SetType(0, node.Type(0));
  const auto factors = FactorsOf(node);
  if (!factors) return;
  const auto& [a, b] = *factors;
  if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) {
    return node.Clash(fmt::format("it multiplies {} by {}", TextOf(a), TextOf(b)));
  }
  node.Set(0, {a[0], b[1]});
}

void GemmWork(const Node& node, Op& op) { MatMulWork(node, op); }

namespace {

// An equation over known shapes: the extent of each letter, and what each side lists.
struct Equation {
  std::array<std::int64_t, 256> extent{};  // of letters; -1: not met
  Dims batch;                              // what the dots stand for
  std::string out;                         // letters, and one '.' for the dots
};

// One operand's letters against its shape; false when they do not fit.
bool BindTerm(std::string_view term, const Dims& shape, Equation& equation) {
  std::size_t letters = 0;
  bool dots = false;
  for (const char letter : term) {
    if (letter == '.') {
      dots = true;
    } else {
      ++letters;
    }
  }
  if (letters > shape.size() || (!dots && letters != shape.size())) return false;
  const std::size_t covered = shape.size() - letters;
  std::size_t at = 0;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      const Dims here(shape.begin() + static_cast<std::ptrdiff_t>(at),
                      shape.begin() + static_cast<std::ptrdiff_t>(at + covered));
      auto both = Stretched(equation.batch, here);
      if (!both) return false;
      equation.batch = *std::move(both);
      at += covered;
      while (i + 1 < term.size() && term[i + 1] == '.') ++i;
      continue;
    }
    std::int64_t& extent = equation.extent[static_cast<unsigned char>(term[i])];
    if (extent != -1 && extent != 1 && shape[at] != 1 && extent != shape[at]) return false;
    extent = std::max(extent, shape[at++]);
  }
  return true;
}

std::optional<Equation> EquationOf(const Node& node) {
  std::string text;
  for (const char letter : node.Text("equation")) {
    if (letter != ' ') text += letter;
    if (text.size() > 1024) return std::nullopt;
  }
  Equation equation;
  equation.extent.fill(-1);
  const auto arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  std::array<int, 256> met{};
  bool dots = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Dims* shape = node.Shape(i);
    if (shape == nullptr) return std::nullopt;
    const auto comma = left.find(',');
    const std::string_view term = left.substr(0, comma);
    if (!BindTerm(term, *shape, equation)) return std::nullopt;
    for (const char letter : term) {
      if (letter == '.') dots = true;
      ++met[static_cast<unsigned char>(letter)];
    }
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
  }
  if (arrow != std::string::npos) {
    for (std::size_t i = arrow + 2; i < text.size(); ++i) {
      if (text[i] != '.' || equation.out.empty() || equation.out.back() != '.') {
        equation.out += text[i];
      }
    }
    return equation;
  }
  // Without an arrow: the dots, then the letters that occur once, by alphabet.
  if (dots) equation.out += '.';
  for (std::size_t letter = 0; letter < met.size(); ++letter) {
    if (letter != '.' && met[letter] == 1) equation.out += static_cast<char>(letter);
  }
  return equation;
}

}  // namespace

void EinsumShape(Node& node) {
  node.SetType(0, node.Type(0));
  const auto equation = EquationOf(node);
  if (!equation) return;
  Dims out;
  for (const char letter : equation->out) {
    if (letter == '.') {
      out.insert(out.end(), equation->batch.begin(), equation->batch.end());
    } else {
      out.push_back(equation->extent[static_cast<unsigned char>(letter)]);
    }
  }
  node.Set(0, std::move(out));
}

void EinsumWork(const Node& node, Op& op) {
  const auto equation = EquationOf(node);
  if (!equation || node.inputs.size() < 2) return;  // one operand: a sum or a transpose
  // Every combination of letters is one product; with three operands or more this is what the
  // plain order would cost, an upper bound.
  double macs = Product(equation->batch);
  for (const std::int64_t extent : equation->extent) {
    if (extent >= 0) macs *= Real(extent);
  }
  op.macs = macs;
}

namespace {

struct Recurrence {
  std::int64_t steps, batch, input, hidden, directions, gates;
  bool batch_first;
};

std::optional<Recurrence> RecurrenceOf(const Node& node) {
  const Dims* x = node.Shape(0);
  const Dims* recurrent = node.Shape(2);
  if (x == nullptr || x->size() != 3) return std::nullopt;
  const bool batch_first = node.Int("layout", 0) == 1;
  Recurrence layer{};
  layer.steps = (*x)[batch_first ? 1 : 0];
  layer.batch = (*x)[batch_first ? 0 : 1];
  layer.input = (*x)[2];
  layer.hidden = node.Int("hidden_size", -1);
  if (recurrent != nullptr && recurrent->size() == 3) layer.hidden = (*recurrent)[2];
  if (layer.hidden < 0 || layer.hidden > kLargestDim) return std::nullopt;
  layer.directions = node.Text("direction", "forward") == "bidirectional" ? 2 : 1;
  layer.gates = node.type() == "LSTM" ? 4 : node.type() == "GRU" ? 3 : 1;
  layer.batch_first = batch_first;
  return layer;
}

}  // namespace

void RecurrentShape(Node& node) {
  for (std::size_t i = 0; i < 3; ++i) node.SetType(i, node.Type(0));
  const auto layer = RecurrenceOf(node);
  if (!layer) return;
  const auto& [steps, batch, input, hidden, directions, gates, batch_first] = *layer;
  if (const Dims* weight = node.Shape(1)) {
    if (weight->size() != 3 || weight->back() != input) {
      return node.Clash(
          fmt::format("its input has {} features, its weight is {}", input, TextOf(*weight)));
    }
  }
  const Dims last = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  node.Set(0, batch_first ? Dims{batch, steps, directions, hidden}
                          : Dims{steps, directions, batch, hidden});
  node.Set(1, last);
  node.Set(2, last);
}

void RecurrentWork(const Node& node, Op& op) {
  const auto layer = RecurrenceOf(node);
  if (!layer) return;
  op.macs = Real(layer->steps) * Real(layer->batch) * Real(layer->directions) * Real(layer->gates) *
            Real(layer->hidden) * (Real(layer->input) + Real(layer->hidden));
  op.steps = std::max<std::int64_t>(layer->steps, 1);
}

namespace {

// Batch, heads and lengths of an attention; head sizes of keys and values.
struct Heads {
  std::int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, key_size = 0,
               value_size = 0;
};

// From one operand: [batch, heads, length, size] or [batch, length, heads x size].
struct Operand {
  std::int64_t batch, heads, length, size;
};
std::optional<Operand> OperandOf(const Dims* dims, std::int64_t heads) {
  if (dims == nullptr) return std::nullopt;
  if (dims->size() == 4) return Operand{(*dims)[0], (*dims)[1], (*dims)[2], (*dims)[3]};
  if (dims->size() != 3 || heads < 1) return std::nullopt;
  return Operand{(*dims)[0], heads, (*dims)[1], (*dims)[2] / heads};
}

std::optional<Heads> AttentionHeads(const Node& node) {
  const auto q = OperandOf(node.Shape(0), node.Int("q_num_heads", 0));
  const auto k = OperandOf(node.Shape(1), node.Int("kv_num_heads", 0));
  const auto v = OperandOf(node.Shape(2), node.Int("kv_num_heads", 0));
  if (!q || !k || !v) return std::nullopt;
  std::int64_t keys = k->length;
  if (const Dims* past = node.Shape(4); past != nullptr && past->size() == 4) keys += (*past)[2];
  return Heads{q->batch, q->heads, k->heads, q->length, keys, k->size, v->size};
}

double AttentionMacs(const Heads& heads) {
  return Real(heads.batch) * Real(heads.heads) * Real(heads.queries) * Real(heads.keys) *
         (Real(heads.key_size) + Real(heads.value_size));
}

}  // namespace

void AttentionShape(Node& node) {
  for (std::size_t i = 0; i < 4; ++i) node.SetType(i, node.Type(0));
  const auto heads = AttentionHeads(node);
  if (!heads) return;
  if (node.Shape(0)->size() == 4) {
    node.Set(0, {heads->batch, heads->heads, heads->queries, heads->value_size});
  } else {
    node.Set(0, {heads->batch, heads->queries, Times(heads->heads, heads->value_size)});
  }
  node.Set(1, {heads->batch, heads->key_heads, heads->keys, heads->key_size});
  node.Set(2, {heads->batch, heads->key_heads, heads->keys, heads->value_size});
  node.Set(3, {heads->batch, heads->heads, heads->queries, heads->keys});
}

void AttentionWork(const Node& node, Op& op) {
  if (const auto heads = AttentionHeads(node)) op.macs = AttentionMacs(*heads);
}

void PackedAttentionShape(Node& node) {
  node.SetType(0, node.Type(0));
  const Dims* x = node.Shape(0);
  const Dims* weight = node.Shape(1);
  if (x == nullptr || weight == nullptr || x->size() != 3 || weight->size() != 2) return;
  const auto sizes = node.Ints("qkv_hidden_sizes");
  const std::int64_t hidden = sizes && sizes->size() == 3 ? (*sizes)[2] : (*weight)[1] / 3;
  node.Set(0, {(*x)[0], (*x)[1], hidden});
}

void PackedAttentionWork(const Node& node, Op& op) {
  const Dims* x = node.Shape(0);
  const Dims* weight = node.Shape(1);
  const Dims* out = node.Result(0);
  if (x == nullptr || weight == nullptr || out == nullptr || weight->size() != 2) return;
  const double tokens = Real((*x)[0]) * Real((*x)[1]);
  const double values = Real(out->back());
  const double keys = std::max(0.0, (Real((*weight)[1]) - values) / 2);
  op.macs = tokens * Real((*x)[2]) * Real((*weight)[1]) + tokens * Real((*x)[1]) * (keys + values);
}

namespace {

std::optional<Heads> MultiHeads(const Node& node) {
  const Dims* query = node.Shape(0);
  const std::int64_t count = node.Int("num_heads", 0);
  if (query == nullptr || query->size() != 3 || count < 1 || count > kLargestDim) {
    return std::nullopt;
  }
  const std::int64_t kv_count = std::clamp<std::int64_t>(node.Int("kv_num_heads", count), 1, count);
  const std::int64_t batch = (*query)[0];
  const std::int64_t length = (*query)[1];
  if (!node.HasInput(1)) {  // packed: queries, keys and values side by side
    const std::int64_t size = (*query)[2] / (count + 2 * kv_count);
    Heads heads{batch, count, kv_count, length, length, size, size};
    if (const Dims* past = node.Shape(3); past != nullptr && past->size() == 4) {
      heads.keys += (*past)[2];
    }
    return heads;
  }
  const auto k = OperandOf(node.Shape(1), kv_count);
  const auto v = node.HasInput(2) ? OperandOf(node.Shape(2), kv_count) : k;
  if (!k || !v) return std::nullopt;
  Heads heads{batch, count, kv_count, length, k->length, (*query)[2] / count, v->size};
  const std::size_t past_input = node.type() == "GroupQueryAttention" ? 3 : 6;
  if (const Dims* past = node.Shape(past_input); past != nullptr && past->size() == 4) {
    heads.keys += (*past)[2];
  }
  return heads;
}

}  // namespace

void MultiHeadShape(Node& node) {
  for (std::size_t i = 0; i < 3; ++i) node.SetType(i, node.Type(0));
  const auto heads = MultiHeads(node);
  if (!heads) return;
  node.Set(0, {heads->batch, heads->queries, Times(heads->heads, heads->value_size)});
  node.Set(1, {heads->batch, heads->key_heads, heads->keys, heads->key_size});
  node.Set(2, {heads->batch, heads->key_heads, heads->keys, heads->value_size});
}

void MultiHeadWork(const Node& node, Op& op) {
  if (const auto heads = MultiHeads(node)) op.macs = AttentionMacs(*heads);
}

void EmbedNormShape(Node& node) {
  node.SetType(0, node.Type(2));
  const Dims* ids = node.Shape(0);
  const Dims* words = node.Shape(2);
  if (ids == nullptr || words == nullptr || ids->size() != 2 || words->size() != 2) return;
  const Dims out = {(*ids)[0], (*ids)[1], (*words)[1]};
  node.Set(0, out, node.Type(2));
  node.Set(1, {(*ids)[0]}, DType::kInt32);
  node.Set(2, out, node.Type(2));
}

}  // namespace sharewell::graph::onnx
