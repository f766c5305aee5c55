#include "core/text/parse_number.h"

#include <charconv>
#include <cmath>

#include "core/text/quoted.h"

namespace sharewell::core {
namespace {

template <class T>
std::optional<T> Exactly(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> FiniteNumber(std::string_view text) {
  const auto value = Exactly<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Result<double> ParseNumber(std::string_view flag, std::string_view text, double least,
                           double most) {
  const auto value = FiniteNumber(text);
  if (value && *value >= least && *value <= most) return *value;
  return UsageError("{}: {} is not allowed; give a number from {} to {}", flag, Quoted(text), least,
                    most);
}

Result<std::uint64_t> ParseWhole(std::string_view flag, std::string_view text, std::uint64_t least,
                                 std::uint64_t most) {
  const auto value = Exactly<std::uint64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  return UsageError("{}: {} is not allowed; give a whole number from {} to {}", flag, Quoted(text),
                    least, most);
}

}  // namespace sharewell::core
