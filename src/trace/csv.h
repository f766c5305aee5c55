// Sharewell's own trace format: docs/formats/trace-csv.md.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

bool DetectCsv(std::string_view text);
core::Result<Trace> ReadCsv(std::string_view text, const std::string& name);

}  // namespace sharewell::trace
