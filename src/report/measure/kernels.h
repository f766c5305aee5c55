// Kernel figures (Nsight Compute, Kineto) and imported samples, as text and JSON. Shares are
// percent in the text and of 1 in JSON; null is unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile_record.h"

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

// What one metric of an import came to.
struct ImportedMetric {
  std::string metric, unit;
  std::int64_t series = 0, samples = 0;
  double least = 0, mean = 0, most = 0;
};
struct ImportedMetrics {
  std::vector<ImportedMetric> metrics;  // in the order they are shown in
  std::vector<std::string> nodes;
  std::int64_t samples = 0, blank = 0, repeated = 0;
  std::int64_t scrapes = 0, failed = 0;
  std::vector<std::pair<std::string, std::int64_t>> unknown;  // names and their samples
};
std::string ImportedText(const ImportedMetrics& imported);
std::string ImportedJson(const ImportedMetrics& imported);

}  // namespace sharewell::report
