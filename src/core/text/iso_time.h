// Times as ISO 8601 writes them, as Unix milliseconds.
#pragma once

#include <optional>
#include <string_view>

#include "core/metric.h"

namespace sharewell::core {

// "2026-11-15", "2026-11-15T08:00", "2026-11-15 08:00:00.250", each with "Z" or an offset
// ("+01:00", "-0730", "+01") behind the time; without one it is UTC. Absent: it is none.
std::optional<UnixMillis> ParseIsoTime(std::string_view text);

}  // namespace sharewell::core
