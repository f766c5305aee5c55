// All that was read during a watch, by series, in bounded memory: a series that grows long is kept
// at half the resolution, again and again. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/job/profile_record.h"
#include "core/metric.h"
#include "core/units.h"

namespace sharewell::measure {

// From `from` to `to`, by a clock that does not jump.
struct Span {
  core::Seconds from, to;
  core::Seconds length() const { return to - from; }
};

class ProfileSeries {
 public:
  // What was read at one moment. REQUIRES: time does not fall.
  void Add(core::Seconds time, const std::vector<core::Reading>& readings);

  // A figure for each series of the machine and of `job` with a value in the span, by metric and
  // instance. Those of single CPUs are left out: they are many, and the samples have them. A
  // counter that began anew is taken up where it does.
  std::vector<core::Figure> Figures(const std::string& job, Span span) const;
  std::optional<core::Figure> FigureOf(const core::Metric& metric, const std::string& instance,
                                       const std::string& job, Span span) const;
  // The last value, or the last rate of a counter, when it is not older than `since`.
  std::optional<double> Latest(const core::Metric& metric, const std::string& instance,
                               const std::string& job, core::Seconds since) const;
  // Instances of a metric that were read at all, in order.
  std::vector<std::string> Instances(const core::Metric& metric, const std::string& job) const;
  // Jobs that the metric was read for in the span, on that instance.
  std::vector<std::string> Jobs(const core::Metric& metric, const std::string& instance,
                                Span span) const;
  bool empty() const { return series_.empty(); }

 private:
  // Several readings of a gauge as one; of a counter the last of them.
  struct Kept {
    core::Seconds time;
    double sum = 0, least = 0, most = 0, last = 0;
    double squares = 0;
    int count = 0;
  };
  struct Series {
    core::MetricKind kind = core::MetricKind::kGauge;
    std::string unit, instance_kind;
    int each = 1;  // readings that become one
    std::vector<Kept> kept;
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // metric, instance, job

  static void Append(Series& series, core::Seconds time, double value);
  static std::optional<core::Figure> Gauge(const Series& series, Span span);
  static std::optional<core::Figure> Rate(const Series& series, Span span);
  static std::optional<core::Figure> Of(const Key& key, const Series& series, Span span);
  const Series* Find(const core::Metric& metric, const std::string& instance,
                     const std::string& job) const;

  std::map<Key, Series> series_;
};

}  // namespace sharewell::measure
