// List and Read of SqlStore, and what Chart shares with them.
#include "store/samples/reading.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/result.h"
#include "store/samples/chunk.h"
#include "store/sql_store.h"

namespace sharewell::store {
namespace {

const std::vector<core::Point>* PendingPoints(const Pending& pending, const SeriesKey& key) {
  const auto node = pending.nodes().find(key.node);
  if (node == pending.nodes().end()) return nullptr;
  const PendingSeries* series = node->second.Find(key);
  return series == nullptr ? nullptr : &series->points;
}

// How many of `points` are in no chunk.
core::Result<std::int64_t> CountNew(Database& database, std::int64_t series, const Extent& extent,
                                    const std::vector<core::Point>& points) {
  auto added = static_cast<std::int64_t>(points.size());
  if (extent.samples == 0 || points.front().time > extent.last) return added;
  const auto there = ReadChunks(database, series, {points.front().time, points.back().time + 1});
  RETURN_IF_ERROR(there);
  for (const core::Point& point : *there) {
    if (std::binary_search(points.begin(), points.end(), point,
                           [](const auto& a, const auto& b) { return a.time < b.time; })) {
      --added;
    }
  }
  return added;
}

}  // namespace

SeriesKey Stored(const SeriesKey& key) {
  return {StoredName(key.node), StoredName(key.metric), StoredName(key.instance),
          StoredName(key.job)};
}

SeriesFilter Stored(SeriesFilter filter) {
  for (auto* part : {&filter.node, &filter.metric, &filter.instance, &filter.job}) {
    if (*part) **part = StoredName(**part);
  }
  return filter;
}

core::Result<std::vector<core::Point>> Newest(Database& database, const Pending& pending,
                                              const SeriesKey& key,
                                              std::optional<std::int64_t> series) {
  std::vector<core::Point> points;
  if (series) {
    auto done =
        ReadJournal(database, key.node, *series, [&](std::int64_t, std::vector<core::Point> added) {
          points.insert(points.end(), added.begin(), added.end());
        });
    RETURN_IF_ERROR(done);
  }
  if (const auto* waiting = PendingPoints(pending, key)) {
    points.insert(points.end(), waiting->begin(), waiting->end());
  }
  Normalize(points);
  return points;
}

core::Result<std::optional<std::int64_t>> IdOf(Database& database, const SeriesKey& key) {
  const auto rows = SelectSeries(database, FilterOf(key));
  RETURN_IF_ERROR(rows);
  return rows->empty() ? std::optional<std::int64_t>() : rows->front().id;
}

std::vector<core::Point> Overlaid(std::vector<core::Point> points,
                                  const std::vector<core::Point>& newest, TimeRange range) {
  for (const core::Point& point : newest) {
    if (point.time >= range.from && point.time < range.to) points.push_back(point);
  }
  Normalize(points);
  return points;
}

core::Result<std::vector<SeriesInfo>> SqlStore::List(const SeriesFilter& asked) {
  const SeriesFilter filter = Stored(asked);
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  const auto rows = SelectSeries(*database_, filter);
  RETURN_IF_ERROR(rows);
  // Of a few series only what is theirs is read; a node may have tens of thousands.
  constexpr std::size_t kFew = 64;
  const bool few = rows->size() <= kFew;
  std::vector<std::int64_t> ids;
  for (const SeriesRow& row : *rows) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  const auto extents =
      few ? SelectExtents(*database_, ids) : SelectExtents(*database_, filter.node);
  RETURN_IF_ERROR(extents);
  const SeriesRange range =
      few && !ids.empty() ? SeriesRange{ids.front(), ids.back() + 1} : SeriesRange{};

  std::map<SeriesKey, SeriesInfo> infos;
  std::unordered_map<std::int64_t, std::vector<core::Point>> newest;
  std::map<std::string, int> nodes;
  for (const SeriesRow& row : *rows) ++nodes[row.key.node];
  for (const auto& [node, count] : nodes) {
    auto done = ReadJournal(*database_, node, range,
                            [&](std::int64_t series, std::vector<core::Point> added) {
                              if (!std::binary_search(ids.begin(), ids.end(), series)) return;
                              auto& all = newest[series];
                              all.insert(all.end(), added.begin(), added.end());
                            });
    RETURN_IF_ERROR(done);
  }
  for (const SeriesRow& row : *rows) {
    const auto found = extents->find(row.id);
    Extent extent = found == extents->end() ? Extent{} : found->second;
    const bool stored = found != extents->end();
    auto& points = newest[row.id];
    if (const auto* waiting = PendingPoints(pending_, row.key)) {
      points.insert(points.end(), waiting->begin(), waiting->end());
    }
    Normalize(points);
    if (!points.empty()) {
      const auto added = CountNew(*database_, row.id, extent, points);
      RETURN_IF_ERROR(added);
      extent = {stored ? std::min(extent.first, points.front().time) : points.front().time,
                stored ? std::max(extent.last, points.back().time) : points.back().time,
                extent.samples + *added};
    } else if (!stored) {
      continue;
    }
    infos[row.key] = {row.key, row.unit, row.kind, extent.first, extent.last, extent.samples};
  }
  for (const auto& [name, node] : pending_.nodes()) {
    for (const PendingSeries& series : node.series()) {
      if (series.points.empty() || infos.contains(series.key) || !Matches(filter, series.key)) {
        continue;
      }
      auto points = series.points;
      Normalize(points);
      infos[series.key] = {series.key,         series.unit,
                           series.kind,        points.front().time,
                           points.back().time, static_cast<std::int64_t>(points.size())};
    }
  }
  RETURN_IF_ERROR(reading->Commit());
  std::vector<SeriesInfo> list;
  for (auto& [key, info] : infos) list.push_back(std::move(info));
  return list;
}

core::Result<std::vector<core::Point>> SqlStore::Read(const SeriesKey& asked, TimeRange range) {
  const SeriesKey key = Stored(asked);
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  const auto id = IdOf(*database_, key);
  RETURN_IF_ERROR(id);
  const auto newest = Newest(*database_, pending_, key, *id);
  RETURN_IF_ERROR(newest);
  core::Result<std::vector<core::Point>> points;
  if (*id && range.from < range.to) points = ReadChunks(*database_, **id, range);
  if (!points) return points;
  RETURN_IF_ERROR(reading->Commit());
  return Overlaid(std::move(*points), *newest, range);
}

core::Result<std::vector<SeriesPoints>> SqlStore::LastMinutes(const std::string& asked) {
  constexpr std::size_t kMostKeys = 1'000'000;
  const std::string node = StoredName(asked);
  auto reading = Transaction::Begin(*database_, Access::kRead);
  RETURN_IF_ERROR(reading);
  std::map<std::int64_t, std::vector<core::Point>> found;
  auto done = ReadJournal(*database_, node, std::nullopt,
                          [&](std::int64_t series, std::vector<core::Point> added) {
                            auto& all = found[series];
                            all.insert(all.end(), added.begin(), added.end());
                          });
  RETURN_IF_ERROR(done);
  if (keys_.size() > kMostKeys) keys_.clear();
  std::vector<std::int64_t> unknown;
  for (const auto& [id, points] : found) {
    if (!keys_.contains(id)) unknown.push_back(id);
  }
  auto rows = SelectSeries(*database_, unknown);
  RETURN_IF_ERROR(rows);
  for (SeriesRow& row : *rows) keys_.emplace(row.id, std::move(row.key));
  RETURN_IF_ERROR(reading->Commit());
  std::vector<SeriesPoints> newest;
  for (auto& [id, points] : found) {
    const auto key = keys_.find(id);
    if (key == keys_.end()) continue;  // it is being removed
    Normalize(points);
    newest.push_back({key->second, std::move(points)});
  }
  std::sort(newest.begin(), newest.end(),
            [](const SeriesPoints& a, const SeriesPoints& b) { return a.key < b.key; });
  return newest;
}

}  // namespace sharewell::store
