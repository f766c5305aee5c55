#include "core/text/words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace sharewell::core {

std::string Count(std::uint64_t n, std::string_view one, std::string_view many) {
  if (n == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", n, one) : fmt::format("{} {}", n, many);
}

std::string Cores(double cores) { return fmt::format("{:g} core{}", cores, cores == 1 ? "" : "s"); }

std::string SizeText(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = bytes.value;
  std::size_t unit = 0;
  while (std::abs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", value) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace sharewell::core
