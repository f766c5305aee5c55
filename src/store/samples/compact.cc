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

// A minute may have the series of thousands of short jobs.
constexpr std::size_t kSeriesAtOnce = 4096;

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
    for (auto it = points.begin(); it != points.end();) {
      const auto begin = it;
      std::vector<std::int64_t> some;
      for (; it != points.end() && some.size() < kSeriesAtOnce; ++it) some.push_back(it->first);
      auto extents = SelectExtents(database_, some);
      RETURN_IF_ERROR(extents);
      known_ = *std::move(extents);
      for (auto one = begin; one != it; ++one) {
        if (auto done = Chunk(minute, one->first, std::move(one->second)); !done) return done;
      }
      if (auto done = Write(); !done) return done;
    }
    return database_.Run("DELETE FROM journal WHERE node = $1 AND minute = $2",
                         {std::string_view(node_), minute});
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
    return {};
  }

  core::Result<void> Write() {
    std::vector<std::vector<Value>> marks;
    marks.reserve(dirty_.size());
    for (const std::int64_t slot : dirty_) marks.push_back({slot});
    auto done = database_.Upsert(kChunkTable, rows_);
    if (done) done = WriteExtents(database_, changed_);
    if (done) done = database_.Upsert(kDirtyTable, marks);
    rows_.clear();
    bytes_.clear();
    changed_.clear();
    dirty_.clear();
    return done;
  }

  Database& database_;
  const std::string& node_;
  Extents known_, changed_;  // of the series at hand
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
  return {};
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
