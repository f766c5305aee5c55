#include "import/ncu_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "platform/files/text.h"

namespace sharewell::imports {
namespace {

using Q = NcuQuantity;

struct Known {
  std::string_view name;
  NcuQuantity quantity;
  int rank;
};

constexpr Known kKnown[] = {
    {"gpu__time_duration.sum", Q::kTime, 0},
    {"gpu__time_duration.avg", Q::kTime, 1},
    {"gpu__time_duration.max", Q::kTime, 1},
    {"gpu__time_duration_measured_user.sum", Q::kTime, 2},
    {"gpu__time_active.avg", Q::kTime, 3},
    {"Duration", Q::kTime, 1},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", Q::kSm, 0},
    {"sm__throughput.avg.pct_of_peak_sustained_active", Q::kSm, 2},
    {"Compute (SM) Throughput", Q::kSm, 1},
    {"SM Throughput", Q::kSm, 1},
    {"Compute (SM) [%]", Q::kSm, 1},
    {"SM [%]", Q::kSm, 1},
    {"SOL SM", Q::kSm, 1},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", Q::kMemory, 0},
    {"Memory Throughput", Q::kMemory, 1},
    {"Memory [%]", Q::kMemory, 1},
    {"SOL Memory", Q::kMemory, 1},
    {"lts__throughput.avg.pct_of_peak_sustained_elapsed", Q::kL2, 0},
    {"lts__t_bytes.avg.pct_of_peak_sustained_elapsed", Q::kL2, 2},
    {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed", Q::kL2, 3},
    {"lts__t_sectors.sum.pct_of_peak_sustained_elapsed", Q::kL2, 3},
    {"lts__t_requests.avg.pct_of_peak_sustained_elapsed", Q::kL2, 4},
    {"L2 Cache Throughput", Q::kL2, 1},
    {"SOL L2 Cache", Q::kL2, 1},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", Q::kDram, 0},
    {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", Q::kDram, 1},
    {"DRAM Throughput", Q::kDram, 2},
    {"SOL DRAM", Q::kDram, 2},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", Q::kOccupancy, 0},
    {"Achieved Occupancy", Q::kOccupancy, 1},
    {"dram__bytes_read.sum.per_second", Q::kDramRead, 0},
    {"dram__bytes_op_read.sum.per_second", Q::kDramRead, 1},
    {"dram__bytes_write.sum.per_second", Q::kDramWrite, 0},
    {"dram__bytes_op_write.sum.per_second", Q::kDramWrite, 1},
    {"dram__bytes_read.sum.pct_of_peak_sustained_elapsed", Q::kDramReadShare, 0},
    {"dram__bytes_read.avg.pct_of_peak_sustained_elapsed", Q::kDramReadShare, 1},
    {"dram__bytes_op_read.sum.pct_of_peak_sustained_elapsed", Q::kDramReadShare, 2},
    {"dram__bytes_write.sum.pct_of_peak_sustained_elapsed", Q::kDramWriteShare, 0},
    {"dram__bytes_write.avg.pct_of_peak_sustained_elapsed", Q::kDramWriteShare, 1},
    {"dram__bytes_op_write.sum.pct_of_peak_sustained_elapsed", Q::kDramWriteShare, 2},
    {"dram__bytes_read.sum", Q::kDramReadBytes, 0},
    {"dram__bytes_op_read.sum", Q::kDramReadBytes, 1},
    {"dram__bytes_write.sum", Q::kDramWriteBytes, 0},
    {"dram__bytes_op_write.sum", Q::kDramWriteBytes, 1},
};

std::optional<double> TimeScale(std::string_view unit) {
  if (unit.empty() || unit == "ns" || unit == "nsecond" || unit == "nanosecond") return 1e-9;
  if (unit == "us" || unit == "usecond" || unit == "microsecond" || unit == "\xc2\xb5s" ||
      unit == "\xce\xbcs") {
    return 1e-6;
  }
  if (unit == "ms" || unit == "msecond" || unit == "millisecond") return 1e-3;
  if (unit == "s" || unit == "sec" || unit == "second") return 1.0;
  if (unit == "minute" || unit == "min") return 60.0;
  if (unit == "hour" || unit == "h") return 3600.0;
  return std::nullopt;
}

// "Gbyte", "GB", "byte": Nsight Compute's prefixes are powers of 1000.
std::optional<double> ByteScale(std::string_view unit) {
  if (unit.empty()) return 1.0;
  for (const std::string_view ending : {"bytes", "byte", "B"}) {
    if (!unit.ends_with(ending)) continue;
    const std::string_view prefix = unit.substr(0, unit.size() - ending.size());
    constexpr std::string_view kPrefixes = "KMGTPE";
    if (prefix.empty()) return 1.0;
    if (prefix == "k") return 1e3;
    const auto power = kPrefixes.find(prefix);
    if (prefix.size() != 1 || power == std::string_view::npos) return std::nullopt;
    return std::pow(1000.0, static_cast<double>(power + 1));
  }
  return std::nullopt;
}

std::optional<double> RateScale(std::string_view unit) {
  if (unit.empty()) return 1.0;
  const auto slash = unit.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto bytes = ByteScale(unit.substr(0, slash));
  const auto time = TimeScale(unit.substr(slash + 1));
  if (!bytes || !time || slash + 1 == unit.size()) return std::nullopt;
  return *bytes / *time;
}

}  // namespace

NcuKind KindOf(NcuQuantity quantity) {
  switch (quantity) {
    case Q::kDramRead:
    case Q::kDramWrite:
      return NcuKind::kRate;
    case Q::kTime:
      return NcuKind::kSeconds;
    case Q::kDramReadBytes:
    case Q::kDramWriteBytes:
      return NcuKind::kBytes;
    default:
      return NcuKind::kShare;
  }
}

std::optional<NcuName> FindNcuMetric(std::string_view metric, std::string_view unit) {
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& known) { return known.name == metric; });
  if (found == std::end(kKnown)) return std::nullopt;
  // The details page has a "Memory Throughput" in bytes a second too.
  const bool label = metric.find("__") == std::string_view::npos;
  if (label && KindOf(found->quantity) == NcuKind::kShare && unit != "%") return std::nullopt;
  return NcuName{found->quantity, found->rank};
}

std::optional<double> NcuScale(NcuKind kind, std::string_view unit) {
  switch (kind) {
    case NcuKind::kShare:
      return unit.empty() || unit == "%" ? std::optional<double>(0.01) : std::nullopt;
    case NcuKind::kRate:
      return RateScale(unit);
    case NcuKind::kSeconds:
      return TimeScale(unit);
    case NcuKind::kBytes:
      return ByteScale(unit);
  }
  return std::nullopt;
}

std::optional<double> NcuNumber(std::string_view text, bool decimal_comma) {
  const char thousands = decimal_comma ? '.' : ',';
  std::string plain;
  for (const char c : text.substr(0, 64)) {
    if (c == thousands || c == ' ' || c == '\'') continue;
    plain += decimal_comma && c == ',' ? '.' : c;
  }
  double value = 0;
  const auto [end, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (code != std::errc() || end != plain.data() + plain.size() || text.size() > 64 ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool NcuUnknown(std::string_view text) {
  const std::string lower = platform::LowerCase(text.substr(0, 16));
  return lower.empty() || lower == "n/a" || lower == "na" || lower == "no data" || lower == "nan" ||
         lower == "-nan" || lower == "inf" || lower == "-inf" || lower == "-";
}

bool ShowsDecimalComma(std::string_view text) {
  const auto comma = text.rfind(',');
  if (comma == std::string_view::npos || text.size() > 64) return false;
  const auto dot = text.rfind('.');
  if (dot != std::string_view::npos) return dot < comma;
  return text.size() - comma - 1 != 3;
}

}  // namespace sharewell::imports
