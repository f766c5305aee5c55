// Rollups and retention.
#pragma once

#include <cstdint>

#include "core/metric.h"
#include "core/result.h"
#include "store/samples/rows.h"
#include "store/sql.h"
#include "store/store.h"

namespace sharewell::store {

// One step of Tidy does at most so much (an hour of one series; rows of rollups), then ends its
// transaction: nobody waits long for it.
constexpr std::int64_t kHoursAStep = 128, kRollupsAStep = 2000;
// And one call of Tidy about so many of them, or so many rows removed; the next call goes on.
constexpr std::int64_t kHoursACall = 4096, kRowsACall = 200'000;

// Rolls up the hours that were written to and end at or before `until`, at most kHoursAStep of
// them; how many that were.
core::Result<std::int64_t> RollUpSome(Database& database, core::UnixMillis until);

// Replaces the hour's entry among a series' rollups of an hour; none: takes it out.
core::Result<void> SetHour(Database& database, std::int64_t series, std::int64_t hour,
                           const std::vector<Bucket>& entry);
// Replaces the block of rollups of a minute; none: takes it out.
core::Result<void> SetMinutes(Database& database, std::int64_t series, std::int64_t hour,
                              const std::vector<Bucket>& minutes);

// Removes a part of what is older than it is kept: an hour of samples, some rollups. How many rows
// were removed.
core::Result<std::int64_t> ExpireSome(Database& database, core::UnixMillis now,
                                      const Retention& retention);

// Takes these out of the list of series. Others who have the store open learn of it by its
// generation.
core::Result<void> DropSeries(Database& database, const std::vector<std::int64_t>& series);

}  // namespace sharewell::store
