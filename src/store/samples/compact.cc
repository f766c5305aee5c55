#include "store/samples/compact.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "core/result.h"
#include "store/samples/chunk.h"
#include "store/samples/rows.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

constexpr std::size_t kRowsAtOnce = 4096;

class Compaction {
 public:
  Compaction(Database& database, const std::string& node) : database_(database), node_(node) {}

  core::Result<void> Minute(std::int64_t minute, const std::vector<Slice>& slices) {
    std::map<std::int64_t, std::vector<core::Point>> points;
    auto read = database_.Run(
        "SELECT data FROM journal WHERE node = $1 AND minute = $2 ORDER BY id",
        {std::string_view(node_), minute}, [&](const Row& row) {
          std::ignore = DecodeSegment(row.Bytes(0), minute, std::nullopt,
                                      [&](std::int64_t series, std::vector<core::Point> added) {
                                        auto& all = points[series];
                                        all.insert(all.end(), added.begin(), added.end());
                                      });
        });
    if (!read) return read;
    for (const Slice& slice : slices) {
      auto& all = points[slice.series];
      all.insert(all.end(), slice.points.begin(), slice.points.end());
    }
    std::vector<std::int64_t> unknown;
    for (const auto& [series, added] : points) {
      if (!known_.contains(series)) unknown.push_back(series);
    }
    auto extents = SelectExtents(database_, unknown);
    RETURN_IF_ERROR(extents);
    known_.merge(*extents);
    for (auto& [series, added] : points) {
      if (auto done = Chunk(minute, series, std::move(added)); !done) return done;
    }
    return database_.Run("DELETE FROM journal WHERE node = $1 AND minute = $2",
                         {std::string_view(node_), minute});
  }

  core::Result<void> Finish() {
    if (auto done = WriteChunks(); !done) return done;
    if (auto done = WriteExtents(database_, changed_); !done) return done;
    std::vector<std::vector<Value>> marks;
    marks.reserve(dirty_.size());
    for (const std::int64_t slot : dirty_) marks.push_back({slot});
    return database_.Upsert(kDirtyTable, marks);
  }

 private:
  core::Result<void> Chunk(std::int64_t minute, std::int64_t series,
                           std::vector<core::Point> added) {
    const std::int64_t slot = SlotOf(minute, series);
    const auto found = known_.find(series);
    std::int64_t before = 0;
    if (found != known_.end() && minute >= BlockOf(found->second.first, kMinute) &&
        minute <= BlockOf(found->second.last, kMinute)) {
      auto done = database_.Run("SELECT samples, data FROM chunk WHERE slot = $1", {slot},
                                [&](const Row& row) {
                                  before = row.Integer(0);
                                  auto there = DecodeChunk(row.Bytes(1), minute * kMinute, kMinute);
                                  if (there)
                                    added.insert(added.begin(), there->begin(), there->end());
                                });
      if (!done) return done;
    }
    Normalize(added);
    const auto count = static_cast<std::int64_t>(added.size());
    const Extent fresh{added.front().time, added.back().time, 0};
    Extent& extent =
        found != known_.end() ? found->second : known_.emplace(series, fresh).first->second;
    extent = {std::min(extent.first, fresh.first), std::max(extent.last, fresh.last),
              extent.samples + count - before};
    changed_[series] = extent;
    dirty_.insert(SlotOf(BlockOf(minute * kMinute, kHour), series));
    EncodeChunk(added, minute * kMinute, bytes_.emplace_back());
    rows_.push_back({slot, count, Blob{bytes_.back()}});
    return rows_.size() < kRowsAtOnce ? core::Result<void>() : WriteChunks();
  }

  core::Result<void> WriteChunks() {
    auto done = database_.Upsert(kChunkTable, rows_);
    rows_.clear();
    bytes_.clear();
    return done;
  }

  Database& database_;
  const std::string& node_;
  Extents known_;  // of the series that were met: a node has those of all jobs that ever ran there
  Extents changed_;
  std::set<std::int64_t> dirty_;
  std::vector<std::vector<Value>> rows_;
  std::deque<std::string> bytes_;  // what rows_ shows
};

}  // namespace

core::Result<void> Compact(Database& database, const std::string& node, const Minutes& minutes) {
  if (minutes.empty()) return {};
  Compaction compaction(database, node);
  for (const auto& [minute, slices] : minutes) {
    if (auto done = compaction.Minute(minute, slices); !done) return done;
  }
  return compaction.Finish();
}

core::Result<void> CompactBefore(Database& database, std::int64_t minute) {
  std::map<std::string, Minutes> found;
  auto done =
      database.Run("SELECT DISTINCT node, minute FROM journal WHERE minute < $1", {minute},
                   [&](const Row& row) { found[std::string(row.Bytes(0))][row.Integer(1)]; });
  if (!done) return done;
  for (const auto& [name, minutes] : found) {
    if (auto compacted = Compact(database, name, minutes); !compacted) return compacted;
  }
  return {};
}

}  // namespace sharewell::store
