#include "cli/args/when.h"

#include <cmath>

#include "cli/args/values.h"
#include "core/text/iso_time.h"
#include "core/text/quoted.h"

namespace sharewell::cli {
namespace {

constexpr int kMostDaysAgo = 100 * 366;

}  // namespace

core::Result<core::UnixMillis> ParseWhen(std::string_view flag, std::string_view text,
                                         core::UnixMillis now) {
  if (text == "now") return now;
  if (const auto time = core::ParseIsoTime(text)) return *time;
  if (const auto ago = ParseTime(flag, text, kMostDaysAgo)) {
    return now - static_cast<core::UnixMillis>(std::llround(ago->value * 1e3));
  }
  return core::UsageError(
      "{}: {} is not a time; give 90s, 15m, 12h or 3d (ago), now, or 2026-11-15T08:00 in UTC", flag,
      core::Quoted(text));
}

}  // namespace sharewell::cli
