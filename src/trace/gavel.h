// Gavel's traces: ten fields between tabs, no header (docs/formats/foreign-traces.md).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

bool DetectGavel(std::string_view text);
core::Result<Trace> ReadGavel(std::string_view text, const std::string& name);

}  // namespace sharewell::trace
