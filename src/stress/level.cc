#include "stress/level.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::stress {
namespace {

using core::Quoted;
using core::UsageError;

struct KindWords {
  std::string_view name;
  std::string_view unit;
  std::string_view title;
  std::string_view allowed;
};

const KindWords& WordsOf(PressureKind kind) {
  static constexpr KindWords kRates[] = {
      {"membw", "bytes_per_second", "memory bandwidth", "a rate like 10GB/s or 800MiB/s"},
      {"llc", "bytes", "last-level cache", "a size like 32MB or 32MiB"},
      {"cpu", "cores", "CPU", "a number of cores like 2 or 1.5"},
      {"pcie", "bytes_per_second", "PCIe", "a rate like 8GB/s or 800MiB/s"},
      {"disk", "bytes_per_second", "disk", "a rate like 100MB/s or 96MiB/s"}};
  return kRates[static_cast<std::size_t>(kind)];
}

// A number at the front of `text`, which is cut off it.
std::optional<double> TakeNumber(std::string_view& text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

// B, kB, MB, GB, TB by thousands; KiB, MiB, GiB, TiB by 1024. Letters in either case.
std::optional<double> BytesUnit(std::string_view unit) {
  const std::string lower = core::LowerCase(unit);
  if (lower == "b") return 1;
  constexpr std::string_view kPrefixes = "kmgt";
  const std::size_t power = lower.empty() ? kPrefixes.npos : kPrefixes.find(lower[0]);
  if (power == kPrefixes.npos) return std::nullopt;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (rest == "b") return std::pow(1000.0, static_cast<double>(power + 1));
  if (rest == "ib") return std::pow(1024.0, static_cast<double>(power + 1));
  return std::nullopt;
}

std::optional<double> AmountOf(PressureKind kind, std::string_view text) {
  const auto number = TakeNumber(text);
  if (!number || *number <= 0) return std::nullopt;
  if (kind == PressureKind::kCpu) return text.empty() ? number : std::nullopt;
  constexpr std::string_view kASecond = "/s";
  if (kind != PressureKind::kLastLevelCache) {
    if (text.size() < kASecond.size() || text.substr(text.size() - kASecond.size()) != kASecond) {
      return std::nullopt;
    }
    text.remove_suffix(kASecond.size());
  }
  const auto unit = BytesUnit(text);
  return unit ? std::optional(*number * *unit) : std::nullopt;
}

std::string ShowBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t power = 0;
  while (std::abs(bytes) >= 999.95 && power + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++power;
  }
  return fmt::format("{:.{}f} {}", bytes, power == 0 ? 0 : (bytes < 100 ? 2 : 1), kUnits[power]);
}

}  // namespace

std::string_view NameOf(PressureKind kind) { return WordsOf(kind).name; }
std::string_view UnitOf(PressureKind kind) { return WordsOf(kind).unit; }
std::string_view TitleOf(PressureKind kind) { return WordsOf(kind).title; }

core::Result<PressureKind> KindOf(std::string_view name) {
  std::vector<std::string> names;
  for (const PressureKind kind : kPressureKinds) {
    if (NameOf(kind) == name) return kind;
    names.emplace_back(NameOf(kind));
  }
  return UsageError("no pressure is called {}; there are membw, llc, cpu, pcie and disk{}",
                    Quoted(name), core::DidYouMean(name, names));
}

core::Result<double> ParseAmount(PressureKind kind, std::string_view text) {
  if (const auto amount = AmountOf(kind, text)) return *amount;
  return UsageError("{} is not allowed; give {}, more than 0", Quoted(text), WordsOf(kind).allowed);
}

core::Result<Level> ParseLevel(PressureKind kind, std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    std::string_view number = text.substr(0, text.size() - 1);
    const auto percent = TakeNumber(number);
    if (percent && number.empty() && *percent > 0 && *percent <= 100) {
      return Level::Share(*percent / 100);
    }
    return UsageError("{} is not allowed; a share is more than 0% and at most 100%", Quoted(text));
  }
  if (const auto amount = AmountOf(kind, text)) return Level::Absolute(*amount);
  return UsageError("{} is not allowed; give a share like 75%, or {}, more than 0", Quoted(text),
                    WordsOf(kind).allowed);
}

std::string ShowLevel(PressureKind kind, double value) {
  switch (kind) {
    case PressureKind::kCpu:
      return fmt::format("{:.2f} cores", value);
    case PressureKind::kLastLevelCache:
      return ShowBytes(value);
    case PressureKind::kMemoryBandwidth:
    case PressureKind::kPcie:
    case PressureKind::kDisk:
      break;
  }
  return ShowBytes(value) + "/s";
}

}  // namespace sharewell::stress
