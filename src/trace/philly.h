// Microsoft's Philly jobs as the CSV that AdaptDL publishes (docs/formats/foreign-traces.md).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

bool DetectPhilly(std::string_view text);
core::Result<Trace> ReadPhilly(std::string_view text, const std::string& name);

}  // namespace sharewell::trace
