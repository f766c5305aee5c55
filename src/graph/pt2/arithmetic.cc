#include "graph/pt2/arithmetic.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sharewell::graph::pt2 {
namespace {

double ElementsFrom(const Dims& dims, std::size_t first) {
  double product = 1;
  for (std::size_t i = first; i < dims.size(); ++i) product *= static_cast<double>(dims[i]);
  return product;
}

}  // namespace

double ElementsOf(const Dims& dims) { return ElementsFrom(dims, 0); }

MaybeMacs ConvMacs(const std::optional<Dims>& out, const std::optional<Dims>& weight) {
  if (!out || !weight || weight->size() < 2) return std::nullopt;
  return ElementsOf(*out) * ElementsFrom(*weight, 1);
}

MaybeMacs DeconvMacs(const std::optional<Dims>& in, const std::optional<Dims>& weight) {
  return ConvMacs(in, weight);
}

MaybeMacs ProductMacs(const std::optional<Dims>& first, const std::optional<Dims>& out) {
  if (!first || !out || first->empty()) return std::nullopt;
  return ElementsOf(*out) * static_cast<double>(first->back());
}

MaybeMacs EinsumMacs(std::string_view equation, const std::vector<std::optional<Dims>>& operands) {
  std::array<double, 256> size{};
  double ellipsis = 1;
  std::size_t operand = 0;
  std::string_view rest = equation.substr(0, equation.find("->"));
  while (true) {
    const std::string_view term = rest.substr(0, rest.find(','));
    if (operand >= operands.size() || !operands[operand]) return std::nullopt;
    const Dims& dims = *operands[operand++];
    std::size_t letters = 0;
    for (const char c : term) letters += c != ' ' && c != '.' ? 1 : 0;
    const bool has_ellipsis = term.find('.') != std::string_view::npos;
    if (letters > dims.size() || (!has_ellipsis && letters != dims.size())) return std::nullopt;
    std::size_t at = 0;
    std::size_t open = dims.size() - letters;  // stand behind the three dots
    double spread = 1;
    for (const char c : term) {
      if (c == ' ') continue;
      if (c == '.') {
        for (; open > 0; --open) spread *= static_cast<double>(dims[at++]);
        continue;
      }
      double& known = size[static_cast<unsigned char>(c)];
      known = std::max(known, static_cast<double>(dims[at++]));
    }
    ellipsis = std::max(ellipsis, spread);
    if (term.size() == rest.size()) break;
    rest.remove_prefix(term.size() + 1);
  }
  double macs = ellipsis;
  for (const double s : size) macs *= s > 0 ? s : 1;
  return macs;
}

MaybeMacs AttentionMacs(const std::optional<Dims>& q, const std::optional<Dims>& k,
                        const std::optional<Dims>& v, bool by_token) {
  const std::size_t least = by_token ? 3 : 2;
  if (!q || !k || !v || q->size() < least || k->size() < least || v->size() < least) {
    return std::nullopt;
  }
  // Tokens of keys; all other dimensions, and the tokens of queries, are in q's own elements.
  const auto tokens = static_cast<double>((*k)[k->size() - least]);
  double rows = 1;  // queries, over batch and heads
  for (std::size_t i = 0; i + 1 < q->size(); ++i) rows *= static_cast<double>((*q)[i]);
  return rows * tokens * static_cast<double>(q->back() + v->back());
}

}  // namespace sharewell::graph::pt2
