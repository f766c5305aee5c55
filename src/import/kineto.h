// PyTorch's profiler traces (Kineto): Chrome's JSON trace format with "traceEvents" of the
// categories kernel, gpu_memcpy, gpu_memset, cuda_runtime, cuda_driver and user_annotation.
#pragma once

#include <string>
#include <string_view>

#include "core/job/profile_record.h"
#include "core/result.h"

namespace sharewell::imports {

// The text is read once, in windows of a few megabytes that json/walk.h takes apart, so
// memory grows with the GPU's work in it, not with its size. A trace that was cut short
// gives what could be read, and the notes say so. Errors are usage errors; `name` stands in them.
core::Result<core::ProfileRecord> ReadKinetoText(std::string_view text, const std::string& name);

}  // namespace sharewell::imports
