// Two stored profiles side by side as a page: their figures, what differs in their environments,
// and both runs over time in the same charts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile_record.h"
#include "report/measure/series.h"

namespace sharewell::report {

// The series are each one's own, as ProfileReport has them.
std::string ProfilePairPage(const core::ProfileRecord& a, const core::ProfileRecord& b,
                            const std::vector<SeriesRead>& series_a,
                            const std::vector<SeriesRead>& series_b, std::string_view made);

}  // namespace sharewell::report
