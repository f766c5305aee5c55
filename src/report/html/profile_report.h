// A stored profile as a page: what it needs, what bounds it, and its run over time as Takayama et
// al. draw one (their figures 1 to 6 and 8 to 15), with what they had no counters for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile_record.h"
#include "report/measure/series.h"

namespace sharewell::report {

// Whether the page draws this metric: others need not be read.
bool IsInProfileReport(std::string_view metric);

// `series`: of its machine and of the job itself, with buckets over ProfileRange. `made` stands at
// the foot.
std::string ProfileReport(const core::ProfileRecord& record, const std::vector<SeriesRead>& series,
                          std::string_view made);

}  // namespace sharewell::report
