#include "graph/pt2/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace sharewell::graph::pt2 {
namespace {

constexpr std::size_t kLongest = 10'000;
constexpr int kDeepest = 100;

// Fractions, because SymPy writes s//2 as floor(Mul(Rational(1, 2), Symbol('s'))).
struct Fraction {
  std::int64_t over = 0;   // numerator
  std::int64_t under = 1;  // denominator, above 0
};
using Number = std::optional<Fraction>;

// Products of two int64 fit, and the sum of two of those.
__extension__ using Wide = __int128;

Number Make(Wide over, Wide under) {
  if (under == 0) return std::nullopt;
  Wide a = over < 0 ? -over : over;
  Wide b = under < 0 ? -under : under;
  while (b != 0) a = std::exchange(b, a % b);
  if (a != 0) over /= a, under /= a;
  if (under < 0) over = -over, under = -under;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  if (over > kMost || over < -kMost || under > kMost) return std::nullopt;
  return Fraction{static_cast<std::int64_t>(over), static_cast<std::int64_t>(under)};
}
Number Add(Fraction a, Fraction b) {
  return Make(Wide{a.over} * b.under + Wide{b.over} * a.under, Wide{a.under} * b.under);
}
Number Subtract(Fraction a, Fraction b) { return Add(a, {-b.over, b.under}); }
Number Multiply(Fraction a, Fraction b) {
  return Make(Wide{a.over} * b.over, Wide{a.under} * b.under);
}
Number Divide(Fraction a, Fraction b) {
  return Make(Wide{a.over} * b.under, Wide{a.under} * b.over);
}
Fraction Floor(Fraction a) { return {a.over / a.under - (a.over % a.under < 0 ? 1 : 0), 1}; }
Fraction Ceiling(Fraction a) { return {a.over / a.under + (a.over % a.under > 0 ? 1 : 0), 1}; }
Number FloorDivide(Fraction a, Fraction b) {
  const Number quotient = Divide(a, b);
  return quotient ? Number(Floor(*quotient)) : std::nullopt;
}
// As Python's %: the sign of the divisor.
Number Modulo(Fraction a, Fraction b) {
  const Number quotient = FloorDivide(a, b);
  const Number whole = quotient ? Multiply(*quotient, b) : std::nullopt;
  return whole ? Subtract(a, *whole) : std::nullopt;
}
Number Power(Fraction a, Fraction b) {
  if (b.under != 1 || b.over < -62 || b.over > 62) return std::nullopt;
  Number power = Fraction{1, 1};
  for (std::int64_t i = 0; i < std::abs(b.over) && power; ++i) power = Multiply(*power, a);
  return power && b.over < 0 ? Divide({1, 1}, *power) : power;
}
bool Less(Fraction a, Fraction b) { return Wide{a.over} * b.under < Wide{b.over} * a.under; }

Number CallOfOne(std::string_view function, Fraction a) {
  if (function == "Integer" || function == "Identity" || function == "ToFloat") return a;
  if (function == "floor" || function == "FloorToInt") return Floor(a);
  if (function == "ceiling" || function == "CeilToInt") return Ceiling(a);
  if (function == "TruncToInt" || function == "int") return a.over < 0 ? Ceiling(a) : Floor(a);
  if (function == "Abs" || function == "abs") return Fraction{std::abs(a.over), a.under};
  return std::nullopt;
}

Number CallOfTwo(std::string_view function, Fraction a, Fraction b) {
  if (function == "FloorDiv" || function == "CleanDiv") return FloorDivide(a, b);
  if (function == "IntTrueDiv" || function == "FloatTrueDiv" || function == "Rational") {
    return Divide(a, b);
  }
  if (function == "Mod" || function == "PythonMod") return Modulo(a, b);
  if (function == "Pow" || function == "PowByNatural") return Power(a, b);
  if (function == "CeilDiv") {
    const Number quotient = Divide(a, b);
    return quotient ? Number(Ceiling(*quotient)) : std::nullopt;
  }
  return std::nullopt;
}

Number Call(std::string_view function, const std::vector<Fraction>& of) {
  if (of.empty()) return std::nullopt;
  const auto fold = [&](auto&& step) {
    Number result = of[0];
    for (std::size_t i = 1; i < of.size() && result; ++i) result = step(*result, of[i]);
    return result;
  };
  if (function == "Add") return fold(Add);
  if (function == "Mul") return fold(Multiply);
  if (function == "Max" || function == "max") return *std::max_element(of.begin(), of.end(), Less);
  if (function == "Min" || function == "min") return *std::min_element(of.begin(), of.end(), Less);
  if (of.size() == 1) return CallOfOne(function, of[0]);
  if (of.size() == 2) return CallOfTwo(function, of[0], of[1]);
  return std::nullopt;
}

bool IsOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Recursive descent. A failure anywhere makes the whole expression worth nothing, but reading goes
// on over unknown symbols, so that they can be collected.
class Parser {
 public:
  Parser(std::string_view text, const Symbols& symbols) : rest_(text), symbols_(symbols) {
    if (text.size() > kLongest) broken_ = true;
  }

  std::optional<std::int64_t> Whole() {
    const Number value = Sum(0);
    SkipSpace();
    if (broken() || !value || value->under != 1) return std::nullopt;
    return value->over;
  }
  const std::set<std::string, std::less<>>& seen() const { return seen_; }
  bool broken() const { return broken_ || !rest_.empty(); }

 private:
  void SkipSpace() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool Take(std::string_view word) {
    SkipSpace();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  Number Break() {
    broken_ = true;
    return std::nullopt;
  }
  template <class Operation>
  static Number Both(Number a, Number b, Operation&& operation) {
    return a && b ? operation(*a, *b) : std::nullopt;
  }

  Number Sum(int depth) {
    if (broken_ || depth > kDeepest) return Break();
    Number value = Product(depth);
    while (!broken_) {
      if (Take("+")) {
        value = Both(value, Product(depth), Add);
      } else if (Take("-")) {
        value = Both(value, Product(depth), Subtract);
      } else {
        return value;
      }
    }
    return std::nullopt;
  }

  Number Product(int depth) {
    Number value = Signed(depth);
    while (!broken_) {
      if (Take("//")) {
        value = Both(value, Signed(depth), FloorDivide);
      } else if (Take("%")) {
        value = Both(value, Signed(depth), Modulo);
      } else if (Take("/")) {
        value = Both(value, Signed(depth), Divide);
      } else if (Take("*")) {
        value = Both(value, Signed(depth), Multiply);
      } else {
        return value;
      }
    }
    return std::nullopt;
  }

  Number Signed(int depth) {
    if (depth > kDeepest) return Break();
    if (Take("-")) {
      const Number value = Signed(depth + 1);
      return value ? Subtract({0, 1}, *value) : std::nullopt;
    }
    const Number base = Atom(depth);
    if (!Take("**")) return base;
    return Both(base, Signed(depth + 1), Power);
  }

  Number Atom(int depth) {
    SkipSpace();
    if (broken_ || rest_.empty()) return Break();
    if (Take("(")) {
      const Number value = Sum(depth + 1);
      return Take(")") ? value : Break();
    }
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), IsOfWord);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    if (word.empty()) return Break();
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return Digits(word);
    if (word == "Symbol") return QuotedSymbol();
    if (Take("(")) return Arguments(word, depth);
    return Value(word);
  }

  Number Digits(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (end != word.data() + word.size()) return Break();
    return code == std::errc() ? Number(Fraction{value, 1}) : std::nullopt;
  }

  Number Arguments(std::string_view function, int depth) {
    std::vector<Fraction> values;
    bool known = true;
    while (!Take(")")) {
      if (broken_ || rest_.empty()) return Break();
      const Number value = Sum(depth + 1);
      known = known && value;
      if (value) values.push_back(*value);
      if (!Take(",") && !rest_.starts_with(")")) return Break();
    }
    return known ? Call(function, values) : std::nullopt;
  }

  // Symbol('s77', positive=True, integer=True), behind the word Symbol.
  Number QuotedSymbol() {
    if (!Take("(") || !Take("'")) return Break();
    const auto quote = rest_.find('\'');
    const auto close = rest_.find(')');
    if (quote == std::string_view::npos || close == std::string_view::npos || close < quote) {
      return Break();
    }
    const std::string_view name = rest_.substr(0, quote);
    if (name.empty() || !std::all_of(name.begin(), name.end(), IsOfWord)) return Break();
    rest_.remove_prefix(close + 1);
    return Value(name);
  }

  Number Value(std::string_view name) {
    seen_.emplace(name);
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? std::nullopt : Make(found->second, 1);
  }

  std::string_view rest_;
  const Symbols& symbols_;
  std::set<std::string, std::less<>> seen_;
  bool broken_ = false;
};

}  // namespace

std::optional<std::int64_t> Evaluate(std::string_view expression, const Symbols& symbols) {
  return Parser(expression, symbols).Whole();
}

void CollectSymbols(std::string_view expression, std::set<std::string, std::less<>>& into) {
  const Symbols none;
  Parser parser(expression, none);
  parser.Whole();
  if (!parser.broken()) into.insert(parser.seen().begin(), parser.seen().end());
}

std::optional<std::string> SoleSymbol(std::string_view expression) {
  std::set<std::string, std::less<>> symbols;
  CollectSymbols(expression, symbols);
  if (symbols.size() != 1) return std::nullopt;
  // Two values tell s from 2*s, s + 1 and s % 7.
  const std::string& symbol = *symbols.begin();
  for (const std::int64_t probe : {std::int64_t{1'000'003}, std::int64_t{15'485'863}}) {
    if (Evaluate(expression, {{symbol, probe}}) != probe) return std::nullopt;
  }
  return symbol;
}

}  // namespace sharewell::graph::pt2
