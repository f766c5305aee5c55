// Nsight Compute's CSV: `ncu --csv` in both its layouts, one row a kernel and metric (the details
// page, or --metrics), and one row a kernel with units in a second header row (--page raw).
// docs/formats/imports.md lists the metrics that are taken.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/job/profile_record.h"
#include "core/result.h"
#include "import/kernel_table.h"

namespace sharewell::imports {

// Kernels, the figures of the whole, environment and notes; the other members are the caller's.
// Lines around the table are skipped ("==PROF== ..."), a last line that was cut is left out and
// said in the notes, as is a share that is not in it, unless it is one of `not_asked`. Errors are
// usage errors with the line; `name` stands in them.
core::Result<core::ProfileRecord> ReadNcuText(std::string_view text, const std::string& name,
                                              const std::set<KernelMetric>& not_asked = {});

}  // namespace sharewell::imports
