// Segment: what one Sync() adds to a minute that is still open: many series, few points each. Kept
// in the journal until the minute is over and its points become chunks. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/result.h"

namespace sharewell::store {

// Points of one series within one minute.
struct Slice {
  std::int64_t series = 0;
  std::span<const core::Point> points;
};

// REQUIRES: series rising; each slice fit for EncodeChunk of that minute.
std::string EncodeSegment(std::span<const Slice> slices, std::int64_t minute);

// Ids of series: from `from` up to, not including, `to`.
struct SeriesRange {
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
};

// The slices in their order, of the series in that range. An error after some is possible: bytes
// that are damaged further on.
using SliceReader = std::function<void(std::int64_t series, std::vector<core::Point> points)>;
core::Result<void> DecodeSegment(std::string_view bytes, std::int64_t minute, SeriesRange range,
                                 const SliceReader& read);
// Of all series, or of one.
core::Result<void> DecodeSegment(std::string_view bytes, std::int64_t minute,
                                 std::optional<std::int64_t> only, const SliceReader& read);

}  // namespace sharewell::store
