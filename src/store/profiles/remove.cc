// Remove of SqlStore.
#include <algorithm>
#include <limits>
#include <set>

#include "core/result.h"
#include "store/samples/chunk.h"
#include "store/samples/reading.h"
#include "store/samples/rollup.h"
#include "store/samples/slot.h"
#include "store/samples/tidy.h"
#include "store/sql_store.h"

namespace sharewell::store {
namespace {

constexpr std::int64_t kSeriesBits = kSeriesLimit - 1;

// Blocks that lie wholly within the range, and those that only reach into it.
struct Covered {
  std::int64_t from = 0, to = 0;
  std::set<std::int64_t> edges;
};

Covered CoveredBy(TimeRange range, std::int64_t span) {
  Covered covered{BlockOf(range.from + span - 1, span), BlockOf(range.to, span), {}};
  if (range.from != covered.from * span) covered.edges.insert(BlockOf(range.from, span));
  if (range.to != covered.to * span) covered.edges.insert(BlockOf(range.to - 1, span));
  covered.to = std::max(covered.from, covered.to);
  return covered;
}

bool Within(TimeRange range, core::UnixMillis time) {
  return time >= range.from && time < range.to;
}

class Removal {
 public:
  Removal(Database& database, const SeriesFilter& filter, TimeRange range)
      : database_(database), filter_(filter), range_(range) {}

  // REQUIRES: the journal is empty.
  core::Result<std::int64_t> Run() {
    const auto rows = SelectSeries(database_, filter_);
    RETURN_IF_ERROR(rows);
    auto extents = SelectExtents(database_, filter_.node);
    RETURN_IF_ERROR(extents);
    const auto raw_from =
        MetaNumber(database_, "raw_from", std::numeric_limits<core::UnixMillis>::min());
    RETURN_IF_ERROR(raw_from);
    raw_from_ = *raw_from;
    extents_ = std::move(*extents);

    for (const SeriesRow& row : *rows) {
      RETURN_IF_ERROR(Edges(row.id));
    }
    RETURN_IF_ERROR(Middle());
    std::vector<std::int64_t> gone;
    for (const SeriesRow& row : *rows) {
      auto left = Shrink(row.id);
      RETURN_IF_ERROR(left);
      if (!*left) gone.push_back(row.id);
    }
    auto done = WriteExtents(database_, changed_);
    if (done) done = DropSeries(database_, gone);
    RETURN_IF_ERROR(done);
    return removed_;
  }

 private:
  void Count(std::int64_t series, std::int64_t samples) {
    extents_[series].samples -= samples;
    removed_ += samples;
  }

  // Blocks that lie in the range with a part only.
  core::Result<void> Edges(std::int64_t series) {
    for (const std::int64_t minute : CoveredBy(range_, kMinute).edges) {
      if (auto done = EdgeMinute(series, minute); !done) return done;
    }
    for (const std::int64_t hour : CoveredBy(range_, kHour).edges) {
      if (auto done = EdgeHour(series, hour); !done) return done;
    }
    for (const std::int64_t day : CoveredBy(range_, kDay).edges) {
      const auto hours = ReadRollups(database_, true, series, {day * kDay, (day + 1) * kDay});
      RETURN_IF_ERROR(hours);
      for (const Bucket& bucket : *hours) {
        if (!Within(range_, bucket.time) || bucket.time + kHour > range_.to) continue;
        auto done = SetHour(database_, series, BlockOf(bucket.time, kHour), {});
        if (!done) return done;
      }
    }
    return {};
  }

  core::Result<void> EdgeMinute(std::int64_t series, std::int64_t minute) {
    const std::int64_t slot = SlotOf(minute, series);
    std::int64_t before = 0;
    std::vector<core::Point> points;
    auto done = database_.Run("SELECT samples, data FROM chunk WHERE slot = $1", {slot},
                              [&](const Row& row) {
                                before = row.Integer(0);
                                auto there = DecodeChunk(row.Bytes(1), minute * kMinute, kMinute);
                                if (there) points = std::move(*there);
                              });
    if (!done || before == 0) return done;
    std::erase_if(points, [&](const core::Point& point) { return Within(range_, point.time); });
    const auto left = static_cast<std::int64_t>(points.size());
    Count(series, before - left);
    if (left == 0) return database_.Run("DELETE FROM chunk WHERE slot = $1", {slot});
    std::string data;
    EncodeChunk(points, minute * kMinute, data);
    const std::vector<Value> row[] = {{slot, left, Blob{data}}};
    return database_.Upsert(kChunkTable, row);
  }

  // Where samples are kept Tidy makes the rollups anew; else the minutes that are left tell.
  core::Result<void> EdgeHour(std::int64_t series, std::int64_t hour) {
    const TimeRange whole{hour * kHour, (hour + 1) * kHour};
    if (whole.from >= raw_from_) {
      const std::vector<Value> mark[] = {{SlotOf(hour, series)}};
      return database_.Upsert(kDirtyTable, mark);
    }
    auto minutes = ReadRollups(database_, false, series, whole);
    RETURN_IF_ERROR(minutes);
    std::erase_if(*minutes, [&](const Bucket& bucket) {
      return bucket.time + kMinute > range_.from && bucket.time < range_.to;
    });
    if (auto done = SetMinutes(database_, series, hour, *minutes); !done) return done;
    return SetHour(database_, series, hour, RollUp(*minutes, kHour));
  }

  // Blocks that lie in the range wholly, of all series at once.
  core::Result<void> Middle() {
    const Where where = WhereOf(filter_);
    const auto erase = [&](const char* table, std::int64_t span, bool counted) {
      const Covered covered = CoveredBy(range_, span);
      if (covered.from >= covered.to) return core::Result<void>();
      auto values = where.values;
      const std::size_t first = values.size() + 1;
      values.emplace_back(SlotOf(covered.from, 0));
      values.emplace_back(SlotOf(covered.to, 0));
      values.emplace_back(kSeriesBits);
      return database_.Run(
          fmt::format("DELETE FROM {} WHERE slot >= ${} AND slot < ${} AND (slot & ${}) IN "
                      "(SELECT id FROM series{}){}",
                      table, first, first + 1, first + 2, where.sql,
                      counted ? " RETURNING slot, samples" : ""),
          values, [&](const Row& row) { Count(SeriesOf(row.Integer(0)), row.Integer(1)); });
    };
    auto done = erase(kChunkTable.name, kMinute, true);
    if (done) done = erase(kMinuteRollupTable.name, kHour, false);
    if (done) done = erase(kHourRollupTable.name, kDay, false);
    if (done) done = erase(kDirtyTable.name, kHour, false);
    return done;
  }

  // Whether anything of the series is left; its first and last time as they are now.
  core::Result<bool> Shrink(std::int64_t series) {
    const auto found = extents_.find(series);
    if (found == extents_.end()) return false;
    Extent& extent = found->second;
    if (range_.from <= extent.first && range_.to > extent.last) return false;
    if (Within(range_, extent.first)) {
      extent.first = range_.to;
      std::optional<core::UnixMillis> first;
      auto done = ReadBlocks(database_, kChunkTable.name, series, BlockOf(range_.to, kMinute),
                             BlockOf(extent.last, kMinute) + 1,
                             [&](std::int64_t minute, std::string_view data) {
                               if (first) return core::Result<void>();
                               const auto points = DecodeChunk(data, minute * kMinute, kMinute);
                               first = points ? points->front().time : minute * kMinute;
                               return core::Result<void>();
                             });
      RETURN_IF_ERROR(done);
      if (first && range_.to >= raw_from_) extent.first = *first;
    }
    if (Within(range_, extent.last)) {
      extent.last = range_.from - 1;
      const auto last =
          LastBlock(database_, kChunkTable.name, series, BlockOf(range_.from - 1, kMinute) + 1);
      RETURN_IF_ERROR(last);
      if (*last) {
        const auto points = ReadChunks(database_, series, {**last * kMinute, range_.from});
        if (points && !points->empty()) extent.last = points->back().time;
      }
    }
    changed_[series] = extent;
    return true;
  }

  Database& database_;
  const SeriesFilter& filter_;
  TimeRange range_;
  core::UnixMillis raw_from_ = 0;
  Extents extents_, changed_;
  std::int64_t removed_ = 0;
};

}  // namespace

core::Result<std::int64_t> SqlStore::Remove(const SeriesFilter& asked, TimeRange range) {
  const SeriesFilter filter = Stored(asked);
  range = {std::clamp(range.from, -kTimeLimit, kTimeLimit + 1),
           std::clamp(range.to, -kTimeLimit, kTimeLimit + 1)};
  if (range.from >= range.to) return 0;
  RETURN_IF_ERROR(Sync());
  auto writing = Transaction::Begin(*database_, Access::kWrite);
  RETURN_IF_ERROR(writing);
  auto compacted = CompactBefore(*database_, std::numeric_limits<std::int64_t>::max());
  RETURN_IF_ERROR(compacted);
  const auto removed = Removal(*database_, filter, range).Run();
  if (!removed) return removed;
  RETURN_IF_ERROR(writing->Commit());
  return removed;
}

}  // namespace sharewell::store
