#include "core/text/parse_number.h"

#include <algorithm>
#include <array>
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

namespace {

// "1:30:00" or "2-12:00:00" (days), as Slurm's users write times.
std::optional<double> ClockSeconds(std::string_view text) {
  double days = 0;
  if (const auto dash = text.find('-'); dash != text.npos && dash > 0) {
    const auto whole = FiniteNumber(text.substr(0, dash));
    if (!whole || *whole != std::floor(*whole)) return std::nullopt;
    days = *whole;
    text.remove_prefix(dash + 1);
  }
  std::array<double, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto end = i + 1 < parts.size() ? text.find(':') : text.size();
    if (end == text.npos) return std::nullopt;
    const std::string_view part = text.substr(0, end);
    const bool digits = !part.empty() && part.size() <= (i == 0 ? 4U : 2U) &&
                        part.find_first_not_of("0123456789") == part.npos;
    const auto value = digits ? FiniteNumber(part) : std::nullopt;
    if (!value || (i > 0 && *value > 59)) return std::nullopt;
    parts[i] = *value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return days * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2];
}

// 0: it has none.
double SecondsOfUnit(std::string_view text) {
  constexpr std::pair<char, double> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  for (const auto& [letter, seconds] : kUnits) {
    if (!text.empty() && text.back() == letter) return seconds;
  }
  return 0;
}

}  // namespace

std::optional<Seconds> TimeFrom(std::string_view text) {
  const double unit = SecondsOfUnit(text);
  auto value = FiniteNumber(text.substr(0, text.size() - (unit > 0 ? 1 : 0)));
  if (unit == 0) {
    if (const auto clock = ClockSeconds(text)) value = clock;
  }
  const double seconds = value.value_or(-1) * (unit > 0 ? unit : 1);
  return std::isfinite(seconds) && seconds >= 0 ? std::optional(Seconds(seconds)) : std::nullopt;
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
