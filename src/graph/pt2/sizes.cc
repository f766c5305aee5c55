#include "graph/pt2/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <vector>

#include "core/text/quoted.h"

namespace sharewell::graph::pt2 {
namespace {

using json::Value;

constexpr std::size_t kMostShown = 10;

// What the file says of its open sizes.
struct Open {
  std::set<std::string, std::less<>> symbols;
  Symbols hints;

  // The symbols of one size; `seen` spares the expressions that were read before.
  void Collect(Value size, std::unordered_set<std::string_view>& seen) {
    const Value expression = size["as_expr"];
    const auto text = expression["expr_str"].Text();
    if (!text || !seen.insert(*text).second) return;
    CollectSymbols(*text, symbols);
    const auto hint = expression["hint"]["as_int"].Whole();
    if (!hint) return;
    if (auto symbol = SoleSymbol(*text)) hints.emplace(*std::move(symbol), *hint);
  }
};

std::string List(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMostShown) {
      shown.emplace_back("...");
      break;
    }
    shown.push_back(core::Quoted(name));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace

core::Result<Sizes> Sizes::Bind(Value tensor_values, const std::vector<Value>& user_inputs,
                                const std::string& name, const Binding& binding) {
  Sizes sizes;
  Open open;
  std::unordered_set<std::string_view> seen;
  for (const auto& [tensor, meta] : tensor_values.members()) {
    for (const Value size : meta["sizes"].items()) open.Collect(size, seen);
  }
  for (const Value input : user_inputs) {
    const auto text = input["sizes"].At(0)["as_expr"]["expr_str"].Text();
    if (!text) continue;
    if (auto symbol = SoleSymbol(*text)) {
      sizes.symbols_[*std::move(symbol)] = binding.batch;
      sizes.open_batch_ = true;
    }
  }
  const std::vector<std::string> all(open.symbols.begin(), open.symbols.end());
  for (const auto& [symbol, value] : binding.named) {
    if (!open.symbols.contains(symbol)) {
      return core::UsageError("{}: has no open dimension {}; {}", name, core::Quoted(symbol),
                              all.empty() ? std::string("all its sizes are fixed")
                                          : "its open dimensions are " + List(all));
    }
    if (value < 0 || value > kLargestDim) {
      return core::UsageError("{}: dimension {} cannot be {}; give a number from 0 to {}", name,
                              core::Quoted(symbol), value, kLargestDim);
    }
    sizes.symbols_[symbol] = value;
  }
  for (const auto& [symbol, hint] : open.hints) sizes.symbols_.emplace(symbol, hint);
  std::vector<std::string> unbound;
  for (const std::string& symbol : open.symbols) {
    if (!sizes.symbols_.contains(symbol)) unbound.push_back(symbol);
  }
  if (!unbound.empty()) {
    return core::UsageError(
        "{}: leaves these dimensions open and gives no example size: {}; bind each, as in --bind "
        "{}=128",
        name, List(unbound), unbound.front().substr(0, 40));
  }
  return sizes;
}

std::optional<std::int64_t> Sizes::Of(Value size) {
  if (const auto value = size["as_int"].Whole()) return value;
  const auto text = size["as_expr"]["expr_str"].Text();
  if (!text) return std::nullopt;
  const auto [entry, is_new] = read_.try_emplace(*text);
  if (is_new) entry->second = Evaluate(*text, symbols_);
  return entry->second;
}

std::optional<Dims> Sizes::All(Value list) {
  if (!list.is_list()) return std::nullopt;
  Dims dims;
  for (const Value item : list.items()) {
    const auto size = Of(item);
    if (!size || dims.size() == kMostDims) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

}  // namespace sharewell::graph::pt2
