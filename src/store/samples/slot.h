// Slot: where a block of one series lies in its table. The block's number comes first and the
// series after it, so that new rows always go to a table's end: SQLite then packs its pages full,
// and taking in was seven times as fast as with the series first. A series is read by stepping from
// block to block.
#pragma once

#include <cstdint>

#include "core/metric.h"

namespace sharewell::store {

constexpr std::int64_t kMinute = 60'000, kHour = 60 * kMinute, kDay = 24 * kHour;  // milliseconds
constexpr std::int64_t kSeriesLimit = std::int64_t{1} << 28;
// Beyond (the year 14,600) no time is taken: block numbers stay small enough for a slot.
constexpr core::UnixMillis kTimeLimit = 400'000'000'000'000;

// Number of the block of `span` milliseconds that `time` lies in; -1 is the last one before 1970.
constexpr std::int64_t BlockOf(core::UnixMillis time, std::int64_t span) {
  return time >= 0 ? time / span : -((-time + span - 1) / span);
}
// REQUIRES: 0 <= series < kSeriesLimit.
constexpr std::int64_t SlotOf(std::int64_t block, std::int64_t series) {
  return block * kSeriesLimit + series;
}
constexpr std::int64_t SeriesOf(std::int64_t slot) { return slot & (kSeriesLimit - 1); }
constexpr std::int64_t BlockOfSlot(std::int64_t slot) { return slot >> 28; }

}  // namespace sharewell::store
