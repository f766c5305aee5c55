// Kernel figures (Nsight Compute, Kineto) and imported samples, as text and JSON. Shares are
// percent in the text and of 1 in JSON; null is unknown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/job/profile_record.h"
#include "measure/imports/imported_metrics.h"

namespace sharewell::report {

// "at::native::vectorized_elementwise_kernel<..FillFunctor..>": without return type, arguments and
// all but the telling part of its template's, at most 48 characters.
std::string ShortKernelName(std::string_view name);

// The kernels that take the longest, at most `most` of them, and the whole below; before them the
// figures that the trace gave, after them the notes. Columns that nobody knows are left out.
std::string KernelsText(const core::ProfileRecord& record, const core::KernelFigure& whole,
                        std::size_t most);
// All kernels.
std::string KernelsJson(const core::ProfileRecord& record, const core::KernelFigure& whole);

std::string ImportedText(const measure::ImportedMetrics& imported);
std::string ImportedJson(const measure::ImportedMetrics& imported);

}  // namespace sharewell::report
