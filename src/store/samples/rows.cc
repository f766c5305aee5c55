#include "store/samples/rows.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <limits>

#include "core/result.h"
#include "store/samples/chunk.h"
#include "store/samples/rollup.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

// A series' rows are found by stepping from block to block: one seek for each, and one over every
// gap in which no series has anything. As a plain query it would read every series' rows.
std::string StepSql(std::string_view table, bool with_data) {
  return fmt::format(R"(
WITH RECURSIVE walk(slot) AS (
  SELECT (SELECT slot FROM {0} WHERE slot >= $1 ORDER BY slot LIMIT 1)
  UNION ALL
  SELECT (SELECT slot FROM {0} WHERE slot >=
            CASE WHEN (walk.slot & $3) < $4 THEN walk.slot - (walk.slot & $3) + $4
                 ELSE walk.slot - (walk.slot & $3) + $3 + 1 + $4 END
          ORDER BY slot LIMIT 1)
  FROM walk WHERE walk.slot < $2)
SELECT walk.slot{1} FROM walk JOIN {0} ON {0}.slot = walk.slot
WHERE walk.slot < $2 AND (walk.slot & $3) = $4)",
                     table, with_data ? fmt::format(", {}.data", table) : "");
}

std::string StepBackSql(std::string_view table) {
  return fmt::format(R"(
WITH RECURSIVE walk(slot) AS (
  SELECT (SELECT slot FROM {0} WHERE slot <= $1 ORDER BY slot DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT slot FROM {0} WHERE slot <=
            CASE WHEN (walk.slot & $2) > $3 THEN walk.slot - (walk.slot & $2) + $3
                 ELSE walk.slot - (walk.slot & $2) - $2 - 1 + $3 END
          ORDER BY slot DESC LIMIT 1)
  FROM walk WHERE (walk.slot & $2) <> $3)
SELECT slot FROM walk WHERE (slot & $2) = $3)",
                     table);
}

constexpr std::int64_t kSeriesMask = kSeriesLimit - 1;

std::string TimeText(core::UnixMillis time) {
  const auto seconds = static_cast<std::time_t>(BlockOf(time, 1000));
  std::tm parts{};
  char text[40] = "?";
  if (gmtime_r(&seconds, &parts) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  }
  return text;
}

tl::unexpected<core::Error> Damaged(const Database& database, core::UnixMillis time,
                                    const core::Error& error) {
  return core::FailedError(
      "{}: what is stored for {}: {}; read the time before and after it, or remove that time with "
      "`sharewell samples`",
      database.where(), TimeText(time), error.message);
}

TimeRange Clamped(TimeRange range) {
  return {std::clamp(range.from, -kTimeLimit, kTimeLimit + 1),
          std::clamp(range.to, -kTimeLimit, kTimeLimit + 1)};
}

constexpr std::size_t kIdsAtOnce = 9;  // a statement has no more values

// From `begin` on; the last one again where there are fewer: one statement for all.
std::vector<Value> IdsAt(std::span<const std::int64_t> ids, std::size_t begin) {
  std::vector<Value> values;
  for (std::size_t i = begin; i < begin + kIdsAtOnce; ++i) {
    values.emplace_back(ids[std::min(i, ids.size() - 1)]);
  }
  return values;
}

SeriesRow SeriesIn(const Row& row) {
  const auto text = [&](int i) { return std::string(row.Bytes(i)); };
  return {row.Integer(0),
          {text(1), text(2), text(3), text(4)},
          text(5),
          row.Integer(6) == 1 ? core::MetricKind::kCounter : core::MetricKind::kGauge};
}

}  // namespace

Where WhereOf(const SeriesFilter& filter) {
  Where where;
  const auto add = [&](const char* column, const std::optional<std::string>& wanted) {
    if (!wanted) return;
    where.values.emplace_back(std::string_view(*wanted));
    where.sql += fmt::format("{} {} = ${}", where.values.size() == 1 ? " WHERE" : " AND", column,
                             where.values.size());
  };
  add("node", filter.node);
  add("metric", filter.metric);
  add("instance", filter.instance);
  add("job", filter.job);
  return where;
}

SeriesFilter FilterOf(const SeriesKey& key) {
  return {key.node, key.metric, key.instance, key.job};
}

bool Matches(const SeriesFilter& filter, const SeriesKey& key) {
  return filter.node.value_or(key.node) == key.node &&
         filter.metric.value_or(key.metric) == key.metric &&
         filter.instance.value_or(key.instance) == key.instance &&
         filter.job.value_or(key.job) == key.job;
}

core::Result<std::vector<SeriesRow>> SelectSeries(Database& database, const SeriesFilter& filter) {
  const Where where = WhereOf(filter);
  std::vector<SeriesRow> rows;
  auto done = database.Run("SELECT id, node, metric, instance, job, unit, kind FROM series" +
                               where.sql + " ORDER BY node, metric, instance, job",
                           where.values, [&](const Row& row) { rows.push_back(SeriesIn(row)); });
  RETURN_IF_ERROR(done);
  return rows;
}

core::Result<std::vector<SeriesRow>> SelectSeries(Database& database,
                                                  std::span<const std::int64_t> ids) {
  const std::string sql =
      "SELECT id, node, metric, instance, job, unit, kind FROM series "
      "WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
  std::vector<SeriesRow> rows;
  for (std::size_t begin = 0; begin < ids.size(); begin += kIdsAtOnce) {
    auto done = database.Run(sql, IdsAt(ids, begin),
                             [&](const Row& row) { rows.push_back(SeriesIn(row)); });
    RETURN_IF_ERROR(done);
  }
  return rows;
}

core::Result<Extents> SelectExtents(Database& database, const std::optional<std::string>& node) {
  Extents extents;
  std::string sql = "SELECT e.series, e.first_time, e.last_time, e.samples FROM extent e";
  std::vector<Value> values;
  if (node) {
    sql += " JOIN series s ON s.id = e.series WHERE s.node = $1";
    values.emplace_back(std::string_view(*node));
  }
  auto done = database.Run(sql, values, [&](const Row& row) {
    extents[row.Integer(0)] = {row.Integer(1), row.Integer(2), row.Integer(3)};
  });
  RETURN_IF_ERROR(done);
  return extents;
}

core::Result<Extents> SelectExtents(Database& database, std::span<const std::int64_t> series) {
  const std::string sql =
      "SELECT series, first_time, last_time, samples FROM extent "
      "WHERE series IN ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
  Extents extents;
  for (std::size_t begin = 0; begin < series.size(); begin += kIdsAtOnce) {
    auto done = database.Run(sql, IdsAt(series, begin), [&](const Row& row) {
      extents[row.Integer(0)] = {row.Integer(1), row.Integer(2), row.Integer(3)};
    });
    RETURN_IF_ERROR(done);
  }
  return extents;
}

core::Result<void> WriteExtents(Database& database, const Extents& extents) {
  std::vector<std::vector<Value>> rows;
  for (const auto& [series, extent] : extents) {
    rows.push_back({series, extent.first, extent.last, extent.samples});
  }
  return database.Upsert(kExtentTable, rows);
}

core::Result<std::int64_t> MetaNumber(Database& database, std::string_view name,
                                      std::int64_t none) {
  std::int64_t number = none;
  auto done = database.Run("SELECT value FROM meta WHERE name = $1", {name}, [&](const Row& row) {
    const std::string_view text = row.Bytes(0);
    std::from_chars(text.data(), text.data() + text.size(), number);
  });
  RETURN_IF_ERROR(done);
  return number;
}

core::Result<void> SetMetaNumber(Database& database, std::string_view name, std::int64_t value) {
  const std::string text = std::to_string(value);
  const std::vector<Value> row[] = {{name, std::string_view(text)}};
  return database.Upsert({"meta", {"name"}, {"value"}}, row);
}

core::Result<void> ReadBlocks(Database& database, std::string_view table, std::int64_t series,
                              std::int64_t from, std::int64_t to, const BlockReader& read) {
  if (from >= to) return {};
  const bool with_data = table != kDirtyTable.name;
  core::Result<void> result;
  auto done = database.Run(
      StepSql(table, with_data), {SlotOf(from, series), SlotOf(to, 0), kSeriesMask, series},
      [&](const Row& row) {
        if (!result) return;
        result = read(BlockOfSlot(row.Integer(0)), with_data ? row.Bytes(1) : std::string_view());
      });
  return done ? result : done;
}

core::Result<std::optional<std::int64_t>> LastBlock(Database& database, std::string_view table,
                                                    std::int64_t series, std::int64_t to) {
  std::optional<std::int64_t> last;
  auto done = database.Run(StepBackSql(table), {SlotOf(to - 1, series), kSeriesMask, series},
                           [&](const Row& row) { last = BlockOfSlot(row.Integer(0)); });
  RETURN_IF_ERROR(done);
  return last;
}

core::Result<std::vector<core::Point>> ReadChunks(Database& database, std::int64_t series,
                                                  TimeRange range) {
  range = Clamped(range);
  std::vector<core::Point> points;
  auto done = ReadBlocks(database, kChunkTable.name, series, BlockOf(range.from, kMinute),
                         BlockOf(range.to - 1, kMinute) + 1,
                         [&](std::int64_t minute, std::string_view data) -> core::Result<void> {
                           auto chunk = DecodeChunk(data, minute * kMinute, kMinute);
                           if (!chunk) return Damaged(database, minute * kMinute, chunk.error());
                           for (const core::Point& point : *chunk) {
                             if (point.time >= range.from && point.time < range.to)
                               points.push_back(point);
                           }
                           return {};
                         });
  RETURN_IF_ERROR(done);
  return points;
}

core::Result<std::vector<Bucket>> ReadRollups(Database& database, bool of_hours,
                                              std::int64_t series, TimeRange range) {
  range = Clamped(range);
  const std::int64_t span = of_hours ? kDay : kHour;
  std::vector<Bucket> buckets;
  auto done = ReadBlocks(database, (of_hours ? kHourRollupTable : kMinuteRollupTable).name, series,
                         BlockOf(range.from, span), BlockOf(range.to - 1, span) + 1,
                         [&](std::int64_t block, std::string_view data) -> core::Result<void> {
                           const auto rollup = DecodeRollup(data, block * span, span);
                           if (!rollup) return Damaged(database, block * span, rollup.error());
                           for (const Bucket& bucket : *rollup) {
                             if (bucket.time >= range.from && bucket.time < range.to) {
                               buckets.push_back(bucket);
                             }
                           }
                           return {};
                         });
  RETURN_IF_ERROR(done);
  return buckets;
}

core::Result<void> ReadJournal(Database& database, const std::string& node,
                               std::optional<std::int64_t> only, const SliceReader& read) {
  return ReadJournal(database, node, only ? SeriesRange{*only, *only + 1} : SeriesRange{}, read);
}

core::Result<void> ReadJournal(Database& database, const std::string& node, SeriesRange range,
                               const SliceReader& read) {
  core::Result<void> result;
  auto done = database.Run("SELECT minute, data FROM journal WHERE node = $1 ORDER BY id",
                           {std::string_view(node)}, [&](const Row& row) {
                             const std::int64_t minute = row.Integer(0);
                             auto decoded = DecodeSegment(row.Bytes(1), minute, range, read);
                             if (!decoded && result)
                               result = Damaged(database, minute * kMinute, decoded.error());
                           });
  return done ? result : done;
}

}  // namespace sharewell::store
