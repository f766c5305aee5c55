// The tables of a store as values: what reading, taking in and tidying share. All of these run
// within a transaction of the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "store/samples/segment.h"
#include "store/sql.h"
#include "store/store.h"

namespace sharewell::store {

struct SeriesRow {
  std::int64_t id = 0;
  SeriesKey key;
  std::string unit;
  core::MetricKind kind = core::MetricKind::kGauge;
};

// What of a series lies in chunks or did once: first and last time, and how many samples are there
// now.
struct Extent {
  core::UnixMillis first = 0, last = 0;
  std::int64_t samples = 0;
};
using Extents = std::unordered_map<std::int64_t, Extent>;

inline const Table kChunkTable{"chunk", {"slot"}, {"samples", "data"}};
inline const Table kMinuteRollupTable{"minute_rollup", {"slot"}, {"data"}};
inline const Table kHourRollupTable{"hour_rollup", {"slot"}, {"data"}};
inline const Table kDirtyTable{"dirty", {"slot"}, {}};
inline const Table kExtentTable{"extent", {"series"}, {"first_time", "last_time", "samples"}};

// "" or " WHERE node = $1 AND ...", and its values; `filter` must outlive them.
struct Where {
  std::string sql;
  std::vector<Value> values;
};
Where WhereOf(const SeriesFilter& filter);
SeriesFilter FilterOf(const SeriesKey& key);
bool Matches(const SeriesFilter& filter, const SeriesKey& key);

core::Result<std::vector<SeriesRow>> SelectSeries(Database& database, const SeriesFilter& filter);
// Of these ids, those that are there.
core::Result<std::vector<SeriesRow>> SelectSeries(Database& database,
                                                  std::span<const std::int64_t> ids);
// Of one node's series, or of all where `node` is absent.
core::Result<Extents> SelectExtents(Database& database, const std::optional<std::string>& node);
// Of these series alone.
core::Result<Extents> SelectExtents(Database& database, std::span<const std::int64_t> series);
core::Result<void> WriteExtents(Database& database, const Extents& extents);

// Whole numbers about the store as a whole: "generation", and "raw_from", "minutes_from": the first
// minute or hour of which samples, or rollups of a minute, are still kept. 0 where there is none.
core::Result<std::int64_t> MetaNumber(Database& database, std::string_view name, std::int64_t none);
core::Result<void> SetMetaNumber(Database& database, std::string_view name, std::int64_t value);

// The blocks of one series in [from, to), in their order. `table` has a slot and, unless it is
// "dirty", data. The reader's first error ends it.
using BlockReader = std::function<core::Result<void>(std::int64_t block, std::string_view data)>;
core::Result<void> ReadBlocks(Database& database, std::string_view table, std::int64_t series,
                              std::int64_t from, std::int64_t to, const BlockReader& read);
// The last block of a series before `to`; none: absent.
core::Result<std::optional<std::int64_t>> LastBlock(Database& database, std::string_view table,
                                                    std::int64_t series, std::int64_t to);

// A series' samples in chunks, in order of time.
core::Result<std::vector<core::Point>> ReadChunks(Database& database, std::int64_t series,
                                                  TimeRange range);
// Its rollups, each that begins in [from, to).
core::Result<std::vector<Bucket>> ReadRollups(Database& database, bool of_hours,
                                              std::int64_t series, TimeRange range);
// What the journal has of a node's series, or of one of them, oldest first.
core::Result<void> ReadJournal(Database& database, const std::string& node,
                               std::optional<std::int64_t> only, const SliceReader& read);
core::Result<void> ReadJournal(Database& database, const std::string& node, SeriesRange range,
                               const SliceReader& read);

}  // namespace sharewell::store
