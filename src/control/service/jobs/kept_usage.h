// KeptUsage: what a user used of late, as the store keeps it: one sum a user, decayed as the fair
// share counts it. It is stored with every end of a run, so a restart knows it whatever became of
// the records: nobody's flood of jobs makes it forgotten.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/metric.h"

namespace sharewell::control {

inline constexpr std::string_view kUsageFacts = "usage/";  // and the user's name

struct KeptUsage {
  double gpu_seconds = 0;  // up to `at`, those of the runs that went on then too
  core::UnixMillis at = 0;

  friend bool operator==(const KeptUsage&, const KeptUsage&) = default;
};

std::string ToText(const KeptUsage& usage);
// Absent: it is none of ours.
std::optional<KeptUsage> KeptUsageFrom(std::string_view text);
// How much of it counts at that time.
double UsageAt(const KeptUsage& usage, core::UnixMillis now);

}  // namespace sharewell::control
