// The words of Nsight Compute's CSV: numbers as a locale writes them, units, and the names of the
// metrics, by which one quantity may be called.
#pragma once

#include <optional>
#include <string_view>

namespace sharewell::imports {

// Of which quantity a metric speaks. The first nine are KernelMetric's, in its order.
enum class NcuQuantity {
  kSm,
  kMemory,
  kL2,
  kDram,
  kOccupancy,
  kDramRead,
  kDramWrite,
  kDramReadShare,
  kDramWriteShare,
  kTime,
  kDramReadBytes,
  kDramWriteBytes,
};
inline constexpr int kNcuQuantities = 12;

enum class NcuKind { kShare, kRate, kSeconds, kBytes };
NcuKind KindOf(NcuQuantity quantity);

struct NcuName {
  NcuQuantity quantity;
  int rank = 0;  // of two metrics for the same quantity the lower counts
};

// By "sm__throughput.avg.pct_of_peak_sustained_elapsed" or, on the details page, "Compute (SM)
// Throughput", where the unit tells two of one name apart. Absent: not one we take.
std::optional<NcuName> FindNcuMetric(std::string_view metric, std::string_view unit);

// What a value in that unit is multiplied by to be a share of one, bytes (a second) or seconds.
// An empty unit is the base one (%, byte, ns). Absent: no unit of that kind.
std::optional<double> NcuScale(NcuKind kind, std::string_view unit);

// "1,234.5"; with decimal_comma "1.234,5". Absent: no number.
std::optional<double> NcuNumber(std::string_view text, bool decimal_comma);
bool NcuUnknown(std::string_view text);  // "n/a", "nan", "" ...
// "9,00" and "1.234,5" can only be decimal commas; "1,234" says nothing.
bool ShowsDecimalComma(std::string_view text);

}  // namespace sharewell::imports
