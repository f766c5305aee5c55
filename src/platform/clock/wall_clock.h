// The wall clock. The one place that reads it for the whole program; what decides takes the time as
// an argument instead.
#pragma once

#include <cstdint>

#include "core/metric.h"

namespace sharewell::platform {

core::UnixMillis UnixNow();
std::int64_t UnixMicrosNow();  // as NVML stamps its samples

}  // namespace sharewell::platform
