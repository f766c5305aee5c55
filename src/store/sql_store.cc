#include "store/sql_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/result.h"
#include "store/samples/chunk.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

// Of each node so many minutes stay in the journal: the one that is now, and those that slow
// collectors may still add to.
constexpr std::size_t kOpenMinutes = 3;

// The points of every series cut at the minutes, without copying them.
Minutes ByMinute(PendingNode& node, const std::vector<std::int64_t>& ids) {
  Minutes minutes;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto& points = node.series()[i].points;
    Normalize(points);
    for (std::size_t begin = 0; begin < points.size();) {
      const std::int64_t minute = BlockOf(points[begin].time, kMinute);
      std::size_t end = begin + 1;
      while (end < points.size() && points[end].time < (minute + 1) * kMinute) ++end;
      minutes[minute].push_back({ids[i], std::span(points).subspan(begin, end - begin)});
      begin = end;
    }
  }
  for (auto& [minute, slices] : minutes) {
    std::sort(slices.begin(), slices.end(),
              [](const Slice& a, const Slice& b) { return a.series < b.series; });
  }
  return minutes;
}

// The minutes that stay open: those written to most recently. By that, not by the clock: a node
// whose clock was wrong for a while must not hold minutes open for ever.
core::Result<std::set<std::int64_t>> OpenMinutes(Database& database, const std::string& node,
                                                 const Minutes& added,
                                                 std::vector<std::int64_t>& closed) {
  std::set<std::int64_t> open;
  for (auto minute = added.rbegin(); minute != added.rend() && open.size() < kOpenMinutes;
       ++minute) {
    open.insert(minute->first);
  }
  auto done = database.Run(
      "SELECT minute, MAX(id) FROM journal WHERE node = $1 GROUP BY minute ORDER BY 2 DESC",
      {std::string_view(node)}, [&](const Row& row) {
        const std::int64_t minute = row.Integer(0);
        if (open.size() < kOpenMinutes) open.insert(minute);
        if (!open.contains(minute)) closed.push_back(minute);
      });
  RETURN_IF_ERROR(done);
  return open;
}

}  // namespace

core::Result<void> SqlStore::Append(const std::string& node, const core::Batch& batch) {
  return pending_.Add(node, batch, database_->where());
}

core::Result<void> SqlStore::Sync() {
  for (auto& [name, node] : pending_.nodes()) {
    if (node.points() == 0) continue;
    if (auto done = SyncNode(node); !done) return done;
  }
  return {};
}

core::Result<void> SqlStore::ForgetIdsIfSomeAreGone() {
  const auto generation = MetaNumber(*database_, "generation", 0);
  RETURN_IF_ERROR(generation);
  if (*generation == generation_) return {};
  generation_ = *generation;
  for (auto& [name, node] : pending_.nodes()) node.ForgetIds();
  return {};
}

// Asked for one by one, and only those that are new: a node has the series of all jobs that ever
// ran there.
core::Result<std::vector<std::int64_t>> SqlStore::SeriesIds(PendingNode& node) {
  std::vector<std::int64_t> ids;
  for (const PendingSeries& series : node.series()) ids.push_back(series.id);
  // Twice at most: before and after those that are missing were made.
  for (bool last : {false, true}) {
    std::vector<std::vector<Value>> missing;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const PendingSeries& series = node.series()[i];
      if (ids[i] != 0 || series.points.empty()) continue;
      const auto rows = SelectSeries(*database_, FilterOf(series.key));
      RETURN_IF_ERROR(rows);
      const bool same =
          !rows->empty() && rows->front().unit == series.unit && rows->front().kind == series.kind;
      if (same) {
        ids[i] = rows->front().id;
        continue;
      }
      const auto& [name, metric, instance, job] = series.key;
      missing.push_back({std::string_view(name), std::string_view(metric),
                         std::string_view(instance), std::string_view(job),
                         std::string_view(series.unit),
                         std::int64_t{series.kind == core::MetricKind::kCounter ? 1 : 0}});
    }
    if (missing.empty() || last) break;
    auto made = database_->Upsert(
        {"series", {"node", "metric", "instance", "job"}, {"unit", "kind"}}, missing);
    RETURN_IF_ERROR(made);
  }
  if (std::any_of(ids.begin(), ids.end(), [](std::int64_t id) { return id >= kSeriesLimit; })) {
    return core::FailedError("{}: has no room for more series (it has had {}); begin a new store",
                             database_->where(), kSeriesLimit - 1);
  }
  return ids;
}

core::Result<void> SqlStore::SyncNode(PendingNode& node) {
  auto writing = Transaction::Begin(*database_, Access::kWrite, node.name());
  RETURN_IF_ERROR(writing);
  if (auto done = ForgetIdsIfSomeAreGone(); !done) return done;
  const auto ids = SeriesIds(node);
  RETURN_IF_ERROR(ids);
  const Minutes added = ByMinute(node, *ids);
  std::vector<std::int64_t> closed;
  const auto open = OpenMinutes(*database_, node.name(), added, closed);
  RETURN_IF_ERROR(open);

  Minutes over;
  for (const std::int64_t minute : closed) over[minute];
  for (const auto& [minute, slices] : added) {
    if (!open->contains(minute)) {
      over[minute] = slices;
      continue;
    }
    const std::string segment = EncodeSegment(slices, minute);
    auto done = database_->Run("INSERT INTO journal(node, minute, data) VALUES($1, $2, $3)",
                               {std::string_view(node.name()), minute, Blob{segment}});
    if (!done) return done;
  }
  RETURN_IF_ERROR(Compact(*database_, node.name(), over));
  if (auto done = writing->Commit(); !done) return done;

  for (std::size_t i = 0; i < ids->size(); ++i) node.series()[i].id = (*ids)[i];
  node.Clear();
  return {};
}

}  // namespace sharewell::store
