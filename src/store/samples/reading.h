// What List, Read and Chart share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "store/samples/pending.h"
#include "store/sql.h"
#include "store/store.h"

namespace sharewell::store {

// As their names are kept.
SeriesKey Stored(const SeriesKey& key);
SeriesFilter Stored(SeriesFilter filter);

core::Result<std::optional<std::int64_t>> IdOf(Database& database, const SeriesKey& key);

// A series' newest points: in the journal, then in memory. In order of time.
core::Result<std::vector<core::Point>> Newest(Database& database, const Pending& pending,
                                              const SeriesKey& key,
                                              std::optional<std::int64_t> series);

// `points` and those of `newest` that lie in the range, which win.
std::vector<core::Point> Overlaid(std::vector<core::Point> points,
                                  const std::vector<core::Point>& newest, TimeRange range);

}  // namespace sharewell::store
