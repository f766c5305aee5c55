// One job of a server as a page: its life, the decision that placed it in words, what it was
// believed to need beside what was seen, its speed, its samples, and the end of its log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/job_metrics.h"
#include "core/job/job_record.h"
#include "report/measure/series.h"

namespace sharewell::report {

// The end of what it wrote to one stream; `why` it is not there, where it is not.
struct JobLog {
  std::string name;  // "stdout"
  std::optional<std::string> end;
  std::string why = {};
};

// GET /jobs/{number}/speed: steps a second as observed, and as predicted, with the 95 % bounds; and
// what the job told of itself.
struct JobSpeed {
  struct Point {
    core::UnixMillis from = 0, to = 0;
    double steps_per_second = 0;
  };
  std::vector<Point> points;
  std::optional<double> low, middle, high;
  core::JobMetrics metrics = {};
};

struct JobPageParts {
  core::JobRecord job;
  core::UnixMillis now = 0;
  std::vector<std::string> why;  // as the server tells it, sentence by sentence
  JobSpeed speed = {};
  std::vector<JobLog> logs;
  std::vector<SeriesRead> series;  // over JobRange
  std::string no_series = {};      // why there are none
};

// From its submission to its end, or now.
store::TimeRange JobRange(const core::JobRecord& job, core::UnixMillis now);

std::string JobReport(const JobPageParts& parts, std::string_view made);

}  // namespace sharewell::report
