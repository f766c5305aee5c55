#include "measure/output_pattern.h"

#include <cmath>
#include <cstdlib>
#include <regex>

#include "core/text/quoted.h"

namespace sharewell::measure {
namespace {

constexpr std::size_t kMostExpression = 1000;
constexpr std::size_t kMostMatched = 1000;

// libstdc++'s other way of matching: no backtracking, so neither exponential time nor a stack as
// deep as the line is long.
std::regex Compile(const std::string& expression) {
#ifdef __GLIBCXX__
  constexpr auto kFlags = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
  constexpr auto kFlags = std::regex::ECMAScript;
#endif
  return std::regex(expression, kFlags);
}

bool Compiles(const std::string& expression) {
  try {
    Compile(expression);
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

// From here on nothing that follows made it whole again. Counted from 1.
std::size_t WrongFrom(const std::string& expression) {
  std::size_t at = expression.size();
  while (at > 1 && !Compiles(expression.substr(0, at - 1))) --at;
  return at;
}

const char* Why(std::regex_constants::error_type code) {
  using namespace std::regex_constants;
  if (code == error_paren) return "a parenthesis has no partner";
  if (code == error_brack) return "a bracket has no partner";
  if (code == error_brace || code == error_badbrace) return "a repetition {m,n} is wrong";
  if (code == error_badrepeat) return "there is nothing to repeat";
  if (code == error_escape) return "an escape is unknown";
  if (code == error_range) return "a range runs backwards";
  if (code == error_backref || code == error_complexity) return "it refers back to a group";
  return "it is not understood";
}

}  // namespace

struct OutputPattern::Compiled {
  std::regex expression;
};

OutputPattern::OutputPattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
OutputPattern::OutputPattern(OutputPattern&&) noexcept = default;
OutputPattern& OutputPattern::operator=(OutputPattern&&) noexcept = default;
OutputPattern::~OutputPattern() = default;

core::Result<OutputPattern> OutputPattern::Make(const std::string& expression) {
  if (expression.empty()) return core::UsageError("the regular expression is empty");
  if (expression.size() > kMostExpression) {
    return core::UsageError("the regular expression is longer than {} characters", kMostExpression);
  }
  try {
    return OutputPattern(std::make_unique<Compiled>(Compiled{Compile(expression)}));
  } catch (const std::regex_error& error) {
    return core::UsageError("{} is no regular expression: {}, at character {}",
                            core::Quoted(expression), Why(error.code()), WrongFrom(expression));
  }
}

bool OutputPattern::has_group() const { return compiled_->expression.mark_count() > 0; }

std::optional<double> OutputPattern::Find(std::string_view line) const {
  line = line.substr(0, kMostMatched);
  std::match_results<std::string_view::const_iterator> match;
  try {
    if (!std::regex_search(line.begin(), line.end(), match, compiled_->expression)) {
      return std::nullopt;
    }
  } catch (const std::regex_error&) {
    return std::nullopt;  // too hard for this line
  }
  if (!has_group()) return 1;
  std::string digits;
  for (const char c : match[1].str()) {
    if (c != ',' && c != ' ') digits += c;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace sharewell::measure
