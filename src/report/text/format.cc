#include "report/text/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/text/words.h"

namespace sharewell::report {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kDay = 86400;
// Beyond this a count of seconds is no whole number in a double any more.
constexpr double kMostSeconds = 9e15;

}  // namespace

std::string Duration(core::Seconds time) {
  const double s = time.value;
  if (!std::isfinite(s) || std::abs(s) > kMostSeconds) return kUnknown;
  if (s < 0) return "-" + Duration(core::Seconds(-s));
  if (s == 0) return "0 s";
  if (s < 0.9995e-3) return fmt::format("{:.0f} µs", s * 1e6);
  if (s < 0.9995) return fmt::format("{:.0f} ms", s * 1e3);
  if (s < 59.95) return fmt::format("{:.1f} s", s);
  if (s < kHour - 0.5) {
    const long long whole = std::llround(s);
    return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  }
  if (s < kDay - kMinute / 2) {
    const long long minutes = std::llround(s / kMinute);
    return fmt::format("{}h {:02}m", minutes / 60, minutes % 60);
  }
  const long long hours = std::llround(s / kHour);
  return fmt::format("{}d {:02}h", hours / 24, hours % 24);
}

std::string About(core::Seconds time) {
  const double s = time.value;
  if (!(s >= 0 && s < kHour)) return Duration(time);
  if (s >= kHour - kMinute / 2) return Duration(core::Seconds(kHour));
  return s < kMinute - 0.5 ? fmt::format("{:.0f} s", s) : fmt::format("{:.0f} min", s / kMinute);
}

std::string Percent(core::Ratio share) {
  if (!std::isfinite(share)) return kUnknown;
  return fmt::format("{:.1f} %", share * 100);
}

std::string Size(core::Bytes bytes) {
  return std::isfinite(bytes.value) ? core::SizeText(bytes) : kUnknown;
}

std::string SizeOf(core::Bytes part, core::Bytes whole) {
  std::string its = Size(part);
  const std::string all = Size(whole);
  const std::size_t unit = std::min(its.find(' '), its.size());
  if (all.ends_with(its.substr(unit))) its.resize(unit);
  return its + " of " + all;
}

std::string Rate(core::BytesPerSecond rate) {
  return std::isfinite(rate.value) ? core::RateText(rate) : kUnknown;
}

std::string Number(double value, int digits) {
  if (!std::isfinite(value)) return kUnknown;
  std::string text = fmt::format("{:.{}f}", std::abs(value), digits);
  for (auto at = static_cast<std::ptrdiff_t>(std::min(text.find('.'), text.size())) - 3; at > 0;
       at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  const bool zero = text.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !zero ? "-" + text : text;
}

std::string Times(core::Ratio ratio) {
  if (!std::isfinite(ratio)) return kUnknown;
  return fmt::format("{:.2f}x", ratio);
}

}  // namespace sharewell::report
