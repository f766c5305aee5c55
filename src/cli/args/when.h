// Points in time from the command line.
#pragma once

#include <string_view>

#include "core/metric.h"
#include "core/result.h"

namespace sharewell::cli {

// "now"; 90s, 15m, 12h or 3d ago; 2026-11-15, 2026-11-15T08:00 and the like (core/text/iso_time.h),
// in UTC where no offset is given.
core::Result<core::UnixMillis> ParseWhen(std::string_view flag, std::string_view text,
                                         core::UnixMillis now);

}  // namespace sharewell::cli
