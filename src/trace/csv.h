// Sharewell's own trace format: docs/formats/trace-csv.md.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

bool DetectCsv(std::string_view text);
core::Result<Trace> ReadCsv(std::string_view text, const std::string& name);

// The trace as such a file: its remarks as comments ahead of the header, and those columns that any
// job has. What is read from it again is the same, apart from lines and `busy`.
std::string WriteCsv(const Trace& trace);

}  // namespace sharewell::trace
