#include "control/service/jobs/kept_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/snapshot.h"

namespace sharewell::control {

std::string ToText(const KeptUsage& usage) {
  return fmt::format("{} {}", usage.gpu_seconds, usage.at);
}

std::optional<KeptUsage> KeptUsageFrom(std::string_view text) {
  KeptUsage usage;
  const char* end = text.data() + text.size();
  const auto seconds = std::from_chars(text.data(), end, usage.gpu_seconds);
  const bool good = seconds.ec == std::errc() && std::isfinite(usage.gpu_seconds) &&
                    usage.gpu_seconds >= 0 && seconds.ptr != end && *seconds.ptr == ' ';
  if (!good) return std::nullopt;
  const auto at = std::from_chars(seconds.ptr + 1, end, usage.at);
  if (at.ec != std::errc() || at.ptr != end) return std::nullopt;
  return usage;
}

double UsageAt(const KeptUsage& usage, core::UnixMillis now) {
  // A clock that was set back makes nothing count more.
  const core::Seconds ago(std::max(0.0, static_cast<double>(now) - static_cast<double>(usage.at)) /
                          1e3);
  return usage.gpu_seconds * std::pow(2, -(ago / core::kUsageHalfLife));
}

}  // namespace sharewell::control
