#include "store/samples/compact.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "core/result.h"
#include "store/samples/chunk.h"
#include "store/samples/rows.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

// Of a minute, in memory: 10,000 short jobs have some hundred thousand.
constexpr std::size_t kSeriesAtOnce = 4096;

class Compaction {
 public:
  Compaction(Database& database, const std::string& node) : database_(database), node_(node) {}

  core::Result<void> Minute(std::int64_t minute, const std::vector<Slice>& slices) {
    for (std::int64_t from = 0; from < kSeriesLimit;) {
      auto piece = Piece(minute, slices, from);
      RETURN_IF_ERROR(piece);
      from = *piece;
    }
    return database_.Run("DELETE FROM journal WHERE node = $1 AND minute = $2",
                         {std::string_view(node_), minute});
  }
  Compacted figures() const { return figures_; }

 private:
  using Points = std::map<std::int64_t, std::vector<core::Point>>;

  // The first of the minute's series from `from` on; where the rest begins.
  core::Result<std::int64_t> Piece(std::int64_t minute, const std::vector<Slice>& slices,
                                   std::int64_t from) {
    Points points;
    SeriesRange range{from, kSeriesLimit};
    const auto add = [&](std::int64_t series, std::span<const core::Point> added) {
      if (series < range.from || series >= range.to) return;
      auto& all = points[series];
      all.insert(all.end(), added.begin(), added.end());
      figures_.most_at_once = std::max(figures_.most_at_once, points.size());
      if (points.size() <= kSeriesAtOnce) return;
      const auto last = std::prev(points.end());  // for the next piece, with all above it
      range.to = last->first;
      points.erase(last);
    };
    auto read =
        database_.Run("SELECT data FROM journal WHERE node = $1 AND minute = $2 ORDER BY id",
                      {std::string_view(node_), minute}, [&](const Row& row) {
                        std::ignore = DecodeSegment(
                            row.Bytes(0), minute, range,
                            [&](std::int64_t series, const std::vector<core::Point>& some) {
                              add(series, some);
                            });
                      });
    RETURN_IF_ERROR(read);
    for (const Slice& slice : slices) add(slice.series, slice.points);
    if (points.empty()) return range.to;
    figures_.series += points.size();
    std::vector<std::int64_t> ids;
    for (const auto& [series, some] : points) ids.push_back(series);
    auto extents = SelectExtents(database_, ids);
    RETURN_IF_ERROR(extents);
    known_ = *std::move(extents);
    for (auto& [series, some] : points) {
      RETURN_IF_ERROR(Chunk(minute, series, std::move(some)));
    }
    RETURN_IF_ERROR(Write());
    return range.to;
  }

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
  Compacted figures_;
  Extents known_, changed_;  // of the series at hand
  std::set<std::int64_t> dirty_;
  std::vector<std::vector<Value>> rows_;
  std::deque<std::string> bytes_;  // what rows_ shows
};

}  // namespace

core::Result<Compacted> Compact(Database& database, const std::string& node,
                                const Minutes& minutes) {
  Compaction compaction(database, node);
  for (const auto& [minute, slices] : minutes) {
    RETURN_IF_ERROR(compaction.Minute(minute, slices));
  }
  return compaction.figures();
}

core::Result<void> CompactBefore(Database& database, std::int64_t minute) {
  std::map<std::string, Minutes> found;
  auto done =
      database.Run("SELECT DISTINCT node, minute FROM journal WHERE minute < $1", {minute},
                   [&](const Row& row) { found[std::string(row.Bytes(0))][row.Integer(1)]; });
  if (!done) return done;
  for (const auto& [name, minutes] : found) {
    RETURN_IF_ERROR(Compact(database, name, minutes));
  }
  return {};
}

}  // namespace sharewell::store
