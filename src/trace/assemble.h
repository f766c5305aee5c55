// What every trace format needs: its limits, telling headers apart, and the last steps of reading.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/result.h"
#include "platform/files/csv.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

// Three hundred years: longer is a wrong unit, not a job.
inline constexpr platform::Range kDuration{0, 9'999'999'999, true};
inline constexpr platform::Range kSubmit{0, 1e11};
inline constexpr int kMostGpus = 100'000;

// Whether the text's header has all these columns.
bool HasColumns(std::string_view text, std::initializer_list<std::string_view> columns);

// Sorts by submit, ties in the order given; counts time from the first submission. An empty trace
// is a usage error.
core::Result<Trace> Assemble(Trace trace, const std::string& name);

}  // namespace sharewell::trace
