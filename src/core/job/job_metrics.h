// JobMetrics: the numbers that a job tells of itself while it runs, such as its loss, over its
// whole life. They are a user's word: nothing is decided by them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metric_name.h"
#include "core/thinned.h"

namespace sharewell::core {

// One value, as the job told it.
struct ToldMetric {
  std::string name;
  UnixMillis at = 0;
  double value = 0;
  std::optional<std::int64_t> step;  // of the job's own count

  friend bool operator==(const ToldMetric&, const ToldMetric&) = default;
};

// Whether name, time, value and step are possible.
bool IsToldMetric(const ToldMetric& told);

// The mean of the values that were told in a stretch of time.
struct MetricPoint {
  UnixMillis from = 0, to = 0;
  double value = 0;
  double told = 1;  // how many values that is

  friend bool operator==(const MetricPoint&, const MetricPoint&) = default;
};
void Join(MetricPoint& a, const MetricPoint& b);

struct JobMetric {
  ToldMetric last;
  Thinned<MetricPoint> points;

  friend bool operator==(const JobMetric&, const JobMetric&) = default;
};

class JobMetrics {
 public:
  JobMetrics() = default;
  // As they were kept. Absent: these are none (too many, times that go back ..).
  static std::optional<JobMetrics> From(std::vector<JobMetric> all);

  // What is none, or one too many, or was heard before, is left out.
  void Hear(const ToldMetric& told);

  // In the order in which they were first told.
  const std::vector<JobMetric>& all() const { return all_; }

  friend bool operator==(const JobMetrics&, const JobMetrics&) = default;

 private:
  std::vector<JobMetric> all_;
};

}  // namespace sharewell::core
