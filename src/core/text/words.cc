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

namespace {

// By steps of `step`, so that at most four digits stand before the point.
std::string InUnits(double value, double step, const std::array<std::string_view, 6>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step - 0.05 && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", value, units[0])
                   : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace

std::string SizeText(Bytes bytes) {
  return InUnits(bytes.value, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string RateText(BytesPerSecond rate) {
  return InUnits(rate.value, 1000, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"});
}

}  // namespace sharewell::core
