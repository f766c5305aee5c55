// The wall clock. The one place that reads it for the whole program; what decides takes the time as
// an argument instead.
#pragma once

#include "core/metric.h"

namespace sharewell::platform {

core::UnixMillis UnixNow();

}  // namespace sharewell::platform
