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

std::optional<Bytes> ParseMemory(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || !(value > 0) || value > 1e18) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},      {"B", 1},      {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1 << 30}, {"TiB", 1099511627776.0}};
  for (const auto& [name, size] : kUnits) {
    if (unit == name && value * size <= 1e18 && value * size >= 1) {
      return Bytes(std::floor(value * size));
    }
  }
  return std::nullopt;
}

}  // namespace sharewell::core
