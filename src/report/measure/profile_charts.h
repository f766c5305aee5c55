// The samples of a stored profile as charts over time: what Takayama et al. draw of a run (its
// figures 1 to 6 and 8 to 15).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile_record.h"
#include "report/measure/series.h"

namespace sharewell::report {

struct ProfileChart {
  std::string name;  // "cpu-gpu-power": a file's name without its ending
  std::string svg;
};

// Whether one of the charts draws this metric of the machine.
bool IsInProfileCharts(std::string_view metric);

// From the start of the run to the end of its window.
store::TimeRange ProfileRange(const core::ProfileRecord& record);

// The name of the machine it was measured on; empty: not told.
std::string ProfileNode(const core::ProfileRecord& record);

// `series`: the machine's, with buckets over ProfileRange. A chart of which nothing was sampled is
// left out; `missing` then says what it would have drawn.
struct ProfileCharts {
  std::vector<ProfileChart> charts;
  std::vector<std::string> missing;
};
ProfileCharts DrawProfileCharts(const core::ProfileRecord& record,
                                const std::vector<SeriesRead>& series);

// The files that charts were written to.
std::string ProfileChartFilesJson(const std::vector<std::string>& files);

}  // namespace sharewell::report
