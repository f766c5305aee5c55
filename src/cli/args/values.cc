#include "cli/args/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "platform/files/text.h"
#include "policy/options.h"

namespace sharewell::cli {
namespace {

using core::UsageError;
using platform::Quoted;

constexpr double kDay = 86400;
constexpr int kMostPatience = 1'000'000;
constexpr double kMostBytes = 1e15;
constexpr double kLeastPercent = 1;  // as MPS counts
// exp(3) is a factor of 20: beyond it a belief says nothing any more.
constexpr double kMostNoise = 3;

// The S of "noisy:S".
std::optional<double> Noise(std::string_view text) {
  constexpr std::string_view kNoisy = "noisy:";
  if (text.substr(0, kNoisy.size()) != kNoisy) return std::nullopt;
  const auto noise = core::FiniteNumber(text.substr(kNoisy.size()));
  return noise && *noise >= 0 && *noise <= kMostNoise ? noise : std::nullopt;
}

}  // namespace

core::Result<core::Seconds> ParseTime(std::string_view flag, std::string_view text, int most_days) {
  const auto time = core::TimeFrom(text);
  if (time && time->value <= most_days * kDay) return *time;
  return UsageError(
      "{}: {} is not allowed; give seconds, a number with s, m, h or d (90s, 15m, 12h, 3d), or "
      "hours, minutes and seconds (1:30:00), at most {}d",
      flag, Quoted(text), most_days);
}

core::Result<core::Seconds> ParseTimeWithUnit(std::string_view flag, std::string_view text,
                                              int most_days) {
  if (core::FiniteNumber(text)) {
    return UsageError(
        "{}: {} has no unit, and Slurm would take it for minutes; write {}m for minutes, {}s for "
        "seconds, or for example 1h, 2d, 00:05:00 (hours:minutes:seconds) or 1-12:00:00",
        flag, Quoted(text), text, text);
  }
  return ParseTime(flag, text, most_days);
}

core::Result<core::Bytes> ParseBytes(std::string_view flag, std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = core::FiniteNumber(text.substr(0, end));
  const std::string unit = platform::LowerCase(text.substr(end));
  constexpr std::string_view kPowers = "bkmgt";
  const auto power = unit.empty() ? kPowers.npos : kPowers.find(unit[0]);
  const std::string_view rest =
      unit.empty() ? std::string_view() : std::string_view(unit).substr(1);
  double step = 0;
  if (power == 0 && rest.empty()) step = 1;
  // "10G" is what Slurm, Docker and PyTorch's users write, and mean by thousands of 1,024.
  if (power != kPowers.npos && power > 0) {
    step = rest == "b" ? 1000 : rest == "ib" || rest.empty() ? 1024 : 0;
  }
  if (number && *number > 0 && step > 0) {
    const double bytes = *number * std::pow(step, static_cast<double>(power));
    if (bytes >= 1 && bytes <= kMostBytes) return core::Bytes(bytes);
  }
  return UsageError(
      "{}: {} is not allowed; give a size with its unit, like 10GB, 512MiB or 10G (GiB)", flag,
      Quoted(text));
}

core::Result<double> ParsePatience(std::string_view flag, std::string_view text) {
  if (text == "forever") return std::numeric_limits<double>::infinity();
  const auto number = core::FiniteNumber(text);
  if (number && *number >= 0 && *number <= kMostPatience) return *number;
  return UsageError("{}: {} is not allowed; give a number from 0 to {}, or forever", flag,
                    Quoted(text), kMostPatience);
}

std::string PatienceText() { return fmt::format("{}", policy::Options().match_patience); }

core::Result<core::Ratio> ParseShare(std::string_view flag, std::string_view text) {
  const auto percent =
      text.ends_with('%') ? core::FiniteNumber(text.substr(0, text.size() - 1)) : std::nullopt;
  if (percent && *percent >= kLeastPercent && *percent <= 100) return *percent / 100;
  return UsageError("{}: {} is not allowed; give a percentage from {} to 100, like 60%", flag,
                    Quoted(text), kLeastPercent);
}

core::Result<double> ParseBelief(std::string_view flag, std::string_view text) {
  if (text == "exact") return 0.0;
  if (const auto noise = Noise(text)) return *noise;
  return UsageError("{}: {} is not allowed; give exact, predicted, or noisy:S with S from 0 to {}",
                    flag, Quoted(text), kMostNoise);
}

core::Result<std::optional<double>> ParseDurations(std::string_view flag, std::string_view text) {
  if (text == "unknown") return std::optional<double>();
  if (text == "exact") return std::optional<double>(0.0);
  if (const auto noise = Noise(text)) return noise;
  return UsageError("{}: {} is not allowed; give exact, unknown, or noisy:S with S from 0 to {}",
                    flag, Quoted(text), kMostNoise);
}

}  // namespace sharewell::cli
