// Sizes that torch.export leaves open: whole-number expressions over symbols. Two notations exist:
// SymPy's own ("Mul(Integer(8), Symbol('s77', positive=True, integer=True))", since PyTorch 2.6 or
// so) and Python's ("8*s77", "s0//2 + 1").
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sharewell::graph::pt2 {

using Symbols = std::map<std::string, std::int64_t, std::less<>>;

// Nothing when it cannot be read, names a symbol or function that is not known, divides by zero, or
// leaves the range of int64. Depth and length are bounded.
std::optional<std::int64_t> Evaluate(std::string_view expression, const Symbols& symbols);

// The symbols that stand in it; what cannot be read adds none.
void CollectSymbols(std::string_view expression, std::set<std::string, std::less<>>& into);

// The symbol, when the expression is nothing else.
std::optional<std::string> SoleSymbol(std::string_view expression);

}  // namespace sharewell::graph::pt2
