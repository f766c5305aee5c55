// Series of samples as text, JSON and CSV. Times are UTC; null (empty in CSV) is unknown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace sharewell::report {

// A value as people read it, by its unit: "97.0 %", "4.5 GiB", "310 W". Of a counter's rate the
// unit ends in "/s".
std::string InUnit(double value, std::string_view unit);

// "2026-11-15 08:48:10".
std::string UtcTime(core::UnixMillis time);

// What a series did. Of a counter the figures are of its rate a second, and its restarts are no
// falls.
struct SeriesSummary {
  std::optional<double> least, mean, most;
  std::optional<double> last;  // the value itself, of a counter too
};

// `buckets` as Chart gives them, in order of time.
SeriesSummary Summarise(core::MetricKind kind, const std::vector<store::Bucket>& buckets);

// What is drawn of a series, in order of time: a gauge's buckets, or a counter's rate from one to
// the next.
struct SeriesValue {
  core::UnixMillis time = 0;
  double value = 0;
};
std::vector<SeriesValue> SeriesValues(core::MetricKind kind,
                                      const std::vector<store::Bucket>& buckets);

// One line of blocks, `width` wide, over the range; gaps are blanks.
std::string Sparkline(core::MetricKind kind, const std::vector<store::Bucket>& buckets,
                      store::TimeRange range, std::size_t width);

// A series and what was read of it: buckets for a look, points for all.
struct SeriesRead {
  store::SeriesInfo info;
  store::TimeRange range;
  std::size_t width = 60;  // of its line of blocks
  std::vector<store::Bucket> buckets = {};
  std::vector<core::Point> points = {};
};

std::string SeriesListTable(const std::vector<store::SeriesInfo>& series);
std::string SeriesListJson(const std::vector<store::SeriesInfo>& series);

std::string SeriesText(const SeriesRead& series);
std::string SeriesShowJson(const std::vector<SeriesRead>& all);

// One row a point, or a bucket. Without the header: to be put behind other rows.
enum class SeriesRows { kPoints, kBuckets };
std::string SeriesCsvHeader(SeriesRows rows);
std::string SeriesCsv(const SeriesRead& series, SeriesRows rows);
std::string SeriesJson(const std::vector<SeriesRead>& all);

}  // namespace sharewell::report
