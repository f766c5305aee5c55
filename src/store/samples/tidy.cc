#include "store/samples/tidy.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>

#include "core/result.h"
#include "store/samples/compact.h"
#include "store/samples/rollup.h"
#include "store/samples/slot.h"
#include "store/sql_store.h"
#include "store/told/told.h"

namespace sharewell::store {
namespace {

constexpr auto kLongAgo = std::numeric_limits<core::UnixMillis>::min();
// Collectors may be late by as much.
constexpr core::UnixMillis kGrace = 5 * kMinute;

core::UnixMillis Before(core::UnixMillis now, core::Seconds kept) {
  constexpr auto kLimit = static_cast<double>(kTimeLimit);
  const double begin = static_cast<double>(now) - kept.value * 1000;
  if (!(begin > -kLimit)) return -kTimeLimit;  // kept for ever
  return static_cast<core::UnixMillis>(std::min(begin, kLimit));
}

// `a` and `b` by time, where both have something combined.
std::vector<Bucket> Merged(std::vector<Bucket> a, const std::vector<Bucket>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::stable_sort(a.begin(), a.end(),
                   [](const Bucket& x, const Bucket& y) { return x.time < y.time; });
  return RollUp(a, 1);
}

core::Result<void> WriteRollup(Database& database, const Table& table, std::int64_t block,
                               std::int64_t span, std::int64_t series,
                               const std::vector<Bucket>& buckets) {
  const std::int64_t slot = SlotOf(block, series);
  if (buckets.empty()) {
    return database.Run(fmt::format("DELETE FROM {} WHERE slot = $1", table.name), {slot});
  }
  const std::string data = EncodeRollup(buckets, block * span);
  const std::vector<Value> row[] = {{slot, Blob{data}}};
  return database.Upsert(table, row);
}

// Samples of a time of which samples are not kept any more: now that they are in the rollups.
core::Result<void> DropChunks(Database& database, std::int64_t series, std::int64_t hour,
                              std::int64_t samples) {
  for (std::int64_t minute = hour * 60; minute < (hour + 1) * 60; ++minute) {
    auto done = database.Run("DELETE FROM chunk WHERE slot = $1", {SlotOf(minute, series)});
    if (!done) return done;
  }
  return database.Run("UPDATE extent SET samples = samples - $1 WHERE series = $2",
                      {samples, series});
}

core::Result<void> RollUpHour(Database& database, std::int64_t series, std::int64_t hour,
                              core::UnixMillis raw_from, core::UnixMillis minutes_from) {
  const TimeRange range{hour * kHour, (hour + 1) * kHour};
  const auto points = ReadChunks(database, series, range);
  RETURN_IF_ERROR(points);
  std::vector<Bucket> minutes = RollUp(*points, kMinute);
  if (range.from >= raw_from) {
    if (auto done = SetMinutes(database, series, hour, minutes); !done) return done;
    return SetHour(database, series, hour, RollUp(minutes, kHour));
  }
  // Late ones: what is left of the others is their rollups.
  if (range.from >= minutes_from) {
    const auto before = ReadRollups(database, false, series, range);
    RETURN_IF_ERROR(before);
    if (auto done = SetMinutes(database, series, hour, Merged(*before, minutes)); !done) {
      return done;
    }
  }
  const auto before = ReadRollups(database, true, series, range);
  RETURN_IF_ERROR(before);
  if (auto done = SetHour(database, series, hour, Merged(*before, RollUp(minutes, kHour))); !done) {
    return done;
  }
  return DropChunks(database, series, hour, static_cast<std::int64_t>(points->size()));
}

// From when on a level is whole; never back, or what is gone would look kept.
core::Result<void> Advance(Database& database, const char* name, core::UnixMillis to) {
  const auto from = MetaNumber(database, name, kLongAgo);
  RETURN_IF_ERROR(from);
  return to > *from ? SetMetaNumber(database, name, to) : core::Result<void>();
}

// The oldest hour of samples, of all series: a chart takes each hour from one level. None that is
// still to be rolled up.
core::Result<std::int64_t> ExpireChunks(Database& database, core::UnixMillis before) {
  auto hour = std::numeric_limits<std::int64_t>::max();
  auto done = database.Run("SELECT slot FROM dirty ORDER BY slot LIMIT 1", {}, [&](const Row& row) {
    before = std::min(before, BlockOfSlot(row.Integer(0)) * kHour);
  });
  RETURN_IF_ERROR(done);
  done = database.Run("SELECT slot FROM chunk ORDER BY slot LIMIT 1", {}, [&](const Row& row) {
    hour = BlockOf(BlockOfSlot(row.Integer(0)) * kMinute, kHour);
  });
  RETURN_IF_ERROR(done);
  if (hour >= BlockOf(before, kHour)) return 0;

  std::unordered_map<std::int64_t, std::int64_t> gone;  // samples by series
  std::int64_t chunks = 0;
  done = database.Run("DELETE FROM chunk WHERE slot < $1 RETURNING slot, samples",
                      {SlotOf((hour + 1) * 60, 0)}, [&](const Row& row) {
                        gone[SeriesOf(row.Integer(0))] += row.Integer(1);
                        ++chunks;
                      });
  RETURN_IF_ERROR(done);
  std::vector<std::int64_t> touched;
  for (const auto& [series, samples] : gone) touched.push_back(series);
  auto extents = SelectExtents(database, touched);
  RETURN_IF_ERROR(extents);
  Extents changed;
  for (const auto& [series, samples] : gone) {
    if (const auto found = extents->find(series); found != extents->end()) {
      found->second.samples -= samples;
      changed.insert(*found);
    }
  }
  done = WriteExtents(database, changed);
  if (done) done = Advance(database, "raw_from", (hour + 1) * kHour);
  RETURN_IF_ERROR(done);
  return chunks;
}

core::Result<std::int64_t> ExpireRollups(Database& database, const char* table,
                                         std::int64_t before_block) {
  std::int64_t rows = 0;
  auto done = database.Run(
      fmt::format("DELETE FROM {0} WHERE slot IN (SELECT slot FROM {0} WHERE slot < $1 ORDER BY "
                  "slot LIMIT $2) RETURNING slot",
                  table),
      {SlotOf(before_block, 0), kRollupsAStep}, [&](const Row&) { ++rows; });
  RETURN_IF_ERROR(done);
  return rows;
}

// Series of which nothing is left.
core::Result<std::int64_t> ExpireSeries(Database& database, core::UnixMillis before) {
  std::set<std::int64_t> gone;
  auto done = database.Run("SELECT series FROM extent WHERE samples <= 0 AND last_time < $1",
                           {before}, [&](const Row& row) { gone.insert(row.Integer(0)); });
  RETURN_IF_ERROR(done);
  if (gone.empty()) return 0;
  std::vector<std::string> nodes;
  done = database.Run("SELECT DISTINCT node FROM journal", {},
                      [&](const Row& row) { nodes.emplace_back(row.Bytes(0)); });
  for (const std::string& node : nodes) {
    if (!done) break;
    done = ReadJournal(
        database, node, std::nullopt,
        [&](std::int64_t series, const std::vector<core::Point>&) { gone.erase(series); });
  }
  if (done) done = DropSeries(database, {gone.begin(), gone.end()});
  RETURN_IF_ERROR(done);
  return static_cast<std::int64_t>(gone.size());
}

}  // namespace

core::Result<void> SetMinutes(Database& database, std::int64_t series, std::int64_t hour,
                              const std::vector<Bucket>& minutes) {
  return WriteRollup(database, kMinuteRollupTable, hour, kHour, series, minutes);
}

core::Result<void> SetHour(Database& database, std::int64_t series, std::int64_t hour,
                           const std::vector<Bucket>& entry) {
  const std::int64_t day = BlockOf(hour * kHour, kDay);
  auto hours = ReadRollups(database, true, series, {day * kDay, (day + 1) * kDay});
  RETURN_IF_ERROR(hours);
  std::erase_if(*hours, [&](const Bucket& bucket) { return bucket.time == hour * kHour; });
  return WriteRollup(database, kHourRollupTable, day, kDay, series, Merged(*hours, entry));
}

core::Result<void> DropSeries(Database& database, const std::vector<std::int64_t>& series) {
  if (series.empty()) return {};
  for (const std::int64_t id : series) {
    for (const char* sql :
         {"DELETE FROM extent WHERE series = $1", "DELETE FROM series WHERE id = $1"}) {
      if (auto done = database.Run(sql, {id}); !done) return done;
    }
  }
  const auto generation = MetaNumber(database, "generation", 0);
  RETURN_IF_ERROR(generation);
  return SetMetaNumber(database, "generation", *generation + 1);
}

core::Result<std::int64_t> RollUpSome(Database& database, core::UnixMillis until) {
  const auto raw_from = MetaNumber(database, "raw_from", kLongAgo);
  RETURN_IF_ERROR(raw_from);
  const auto minutes_from = MetaNumber(database, "minutes_from", kLongAgo);
  RETURN_IF_ERROR(minutes_from);
  std::vector<std::int64_t> slots;
  auto done = database.Run("SELECT slot FROM dirty WHERE slot < $1 ORDER BY slot LIMIT $2",
                           {SlotOf(BlockOf(until, kHour), 0), kHoursAStep},
                           [&](const Row& row) { slots.push_back(row.Integer(0)); });
  for (const std::int64_t slot : slots) {
    if (!done) break;
    done = RollUpHour(database, SeriesOf(slot), BlockOfSlot(slot), *raw_from, *minutes_from);
  }
  if (done && !slots.empty()) {
    done = database.Run("DELETE FROM dirty WHERE slot <= $1", {slots.back()});
  }
  RETURN_IF_ERROR(done);
  return static_cast<std::int64_t>(slots.size());
}

core::Result<std::int64_t> ExpireSome(Database& database, core::UnixMillis now,
                                      const Retention& retention) {
  const core::UnixMillis raw = Before(now, retention.raw), minutes = Before(now, retention.minutes),
                         hours = Before(now, retention.hours);
  auto chunks = ExpireChunks(database, raw);
  if (!chunks) return chunks;
  // Of the rollups of a minute a chart reads none from before this, there or not.
  const std::int64_t minutes_hour = BlockOf(minutes, kHour);
  RETURN_IF_ERROR(Advance(database, "minutes_from", minutes_hour * kHour));
  const auto rolled_minutes = ExpireRollups(database, kMinuteRollupTable.name, minutes_hour);
  if (!rolled_minutes) return rolled_minutes;
  const auto rolled_hours = ExpireRollups(database, kHourRollupTable.name, BlockOf(hours, kDay));
  if (!rolled_hours) return rolled_hours;
  const core::UnixMillis oldest = BlockOf(std::min({raw, minutes, hours}), kDay) * kDay;
  if (*rolled_hours > 0) {
    auto done = database.Run(
        "UPDATE extent SET first_time = $1 WHERE first_time < $1 AND last_time >= $1", {oldest});
    RETURN_IF_ERROR(done);
  }
  const auto series = ExpireSeries(database, oldest);
  if (!series) return series;
  return *chunks + *rolled_minutes + *rolled_hours + *series;
}

core::Result<void> SqlStore::Tidy(core::UnixMillis now, const Retention& retention) {
  now = std::clamp(now, -kTimeLimit / 2, kTimeLimit / 2);
  const auto step = [&](const auto& work) -> core::Result<std::int64_t> {
    auto writing = Transaction::Begin(*database_, Access::kWrite);
    RETURN_IF_ERROR(writing);
    core::Result<std::int64_t> done = work();
    if (!done) return done;
    RETURN_IF_ERROR(writing->Commit());
    return done;
  };
  auto done = step([&]() -> core::Result<std::int64_t> {
    auto compacted = CompactBefore(*database_, BlockOf(now - kGrace, kMinute));
    RETURN_IF_ERROR(compacted);
    RETURN_IF_ERROR(DropOldTold(*database_, now));
    return 0;
  });
  std::int64_t hours = 0;
  if (done) done = kHoursAStep;
  while (done && *done == kHoursAStep && hours < kHoursACall) {
    done = step([&] { return RollUpSome(*database_, now - kGrace); });
    hours += done.value_or(0);
  }
  std::int64_t rows = 0;
  if (done) done = 1;
  while (done && *done > 0 && rows < kRowsACall) {
    done = step([&] { return ExpireSome(*database_, now, retention); });
    rows += done.value_or(0);
  }
  RETURN_IF_ERROR(done);
  return database_->Reclaim();
}

}  // namespace sharewell::store
