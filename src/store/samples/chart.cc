// Chart of SqlStore: each stretch of time from what is kept of it, at the level that suits.
#include <algorithm>
#include <limits>

#include "core/result.h"
#include "store/samples/reading.h"
#include "store/samples/rollup.h"
#include "store/samples/slot.h"
#include "store/sql_store.h"

namespace sharewell::store {
namespace {

// Samples over so many minutes, rollups of a minute over so many, else those of an hour.
constexpr std::int64_t kMostRawMinutes = 2 * 1440 + 60, kMostRolledMinutes = 30 * 1440;

constexpr auto kFirstTime = std::numeric_limits<core::UnixMillis>::min();

class ChartReader {
 public:
  ChartReader(Database& database, std::int64_t series, TimeRange range, ChartBuckets& buckets)
      : database_(database), series_(series), range_(range), buckets_(buckets) {}

  core::Result<void> Start() {
    const auto raw_from = MetaNumber(database_, "raw_from", kFirstTime);
    RETURN_IF_ERROR(raw_from);
    const auto minutes_from = MetaNumber(database_, "minutes_from", kFirstTime);
    RETURN_IF_ERROR(minutes_from);
    raw_from_ = *raw_from;
    minutes_from_ = *minutes_from;
    return {};
  }

  // Samples, and rollups where samples are gone. Samples of such a time have come late: they count
  // beside its rollups.
  core::Result<void> Fine(const std::vector<core::Point>& newest) {
    if (auto done = Rollups(range_.from, std::min(raw_from_, range_.to), false); !done) {
      return done;
    }
    auto points = ReadChunks(database_, series_, range_);
    RETURN_IF_ERROR(points);
    Add(Overlaid(std::move(*points), newest, range_));
    return {};
  }

  // Rollups, and samples of the hours that Tidy has not been at since they were written to.
  core::Result<void> Coarse(bool of_hours, const std::vector<core::Point>& newest) {
    std::vector<core::Point> points;
    std::vector<TimeRange> dirty;
    auto listed = ReadBlocks(database_, kDirtyTable.name, series_, BlockOf(range_.from, kHour),
                             BlockOf(range_.to - 1, kHour) + 1,
                             [&](std::int64_t hour, std::string_view) -> core::Result<void> {
                               dirty.push_back({std::max(hour * kHour, range_.from),
                                                std::min((hour + 1) * kHour, range_.to)});
                               if (hour * kHour >= raw_from_) left_out_.push_back(hour);
                               return {};
                             });
    if (!listed) return listed;
    for (const TimeRange& hour : dirty) {
      const auto some = ReadChunks(database_, series_, hour);
      RETURN_IF_ERROR(some);
      points.insert(points.end(), some->begin(), some->end());
    }
    Add(Overlaid(std::move(points), newest, range_));
    return Rollups(range_.from, range_.to, of_hours);
  }

  void Add(const std::vector<core::Point>& points) {
    for (const auto& [time, value] : points) buckets_.Add({time, value, value, value, value, 1});
  }

 private:
  core::Result<void> Rollups(core::UnixMillis from, core::UnixMillis to, bool of_hours) {
    const core::UnixMillis hours_to = of_hours ? to : std::min(minutes_from_, to);
    if (auto done = RollupsOf(true, from, hours_to); !done) return done;
    return RollupsOf(false, std::max(from, hours_to), to);
  }
  core::Result<void> RollupsOf(bool hours, core::UnixMillis from, core::UnixMillis to) {
    if (from >= to) return {};
    // One that began before and reaches into the range counts too.
    const std::int64_t span = hours ? kHour : kMinute;
    const auto rollups = ReadRollups(database_, hours, series_, {BlockOf(from, span) * span, to});
    RETURN_IF_ERROR(rollups);
    for (const Bucket& bucket : *rollups) {
      if (!std::binary_search(left_out_.begin(), left_out_.end(), BlockOf(bucket.time, kHour))) {
        buckets_.Add(bucket);
      }
    }
    return {};
  }

  Database& database_;
  std::int64_t series_;
  TimeRange range_;
  ChartBuckets& buckets_;
  core::UnixMillis raw_from_ = kFirstTime, minutes_from_ = kFirstTime;
  std::vector<std::int64_t> left_out_;  // hours that are read as samples; rising
};

// From the first to the last time of which something is kept.
core::Result<TimeRange> AllOf(Database& database, std::optional<std::int64_t> series,
                              const std::vector<core::Point>& newest) {
  TimeRange all{kTimeLimit + 1, -kTimeLimit};
  if (!newest.empty()) all = {newest.front().time, newest.back().time + 1};
  if (!series) return all;
  auto done = database.Run("SELECT first_time, last_time FROM extent WHERE series = $1", {*series},
                           [&](const Row& row) {
                             all.from = std::min(all.from, row.Integer(0));
                             all.to = std::max(all.to, row.Integer(1) + 1);
                           });
  RETURN_IF_ERROR(done);
  return all;
}

}  // namespace

core::Result<std::vector<Bucket>> SqlStore::Chart(const SeriesKey& asked, TimeRange range,
                                                  std::size_t most) {
  const SeriesKey key = Stored(asked);
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  const auto id = IdOf(*database_, key);
  RETURN_IF_ERROR(id);
  const auto newest = Newest(*database_, pending_, key, *id);
  RETURN_IF_ERROR(newest);
  const auto all = AllOf(*database_, *id, *newest);
  RETURN_IF_ERROR(all);

  // An end of the range that is open is where the data end.
  if (range.from < -kTimeLimit) range.from = all->from;
  if (range.to > kTimeLimit) range.to = all->to;
  const TimeRange there{std::max(range.from, all->from), std::min(range.to, all->to)};
  if (there.from >= there.to || most == 0) return std::vector<Bucket>();

  const std::int64_t minutes = (there.to - there.from) / kMinute + 1;
  const bool fine = minutes <= kMostRawMinutes, of_hours = minutes > kMostRolledMinutes;
  ChartBuckets buckets(range, most, fine ? 1 : of_hours ? kHour : kMinute);
  ChartReader chart(*database_, id->value_or(0), there, buckets);
  if (!*id) {
    chart.Add(Overlaid({}, *newest, there));
    return std::move(buckets).Take();
  }
  auto done = chart.Start();
  if (done) done = fine ? chart.Fine(*newest) : chart.Coarse(of_hours, *newest);
  if (done) done = reading->Commit();
  RETURN_IF_ERROR(done);
  return std::move(buckets).Take();
}

}  // namespace sharewell::store
