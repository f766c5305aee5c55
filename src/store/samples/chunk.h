// Chunk: the points of one series within one block of time, in few bytes. docs/formats/store.md has
// the layout. Doubles come back bit for bit. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/result.h"

namespace sharewell::store {

// More points than this are in no chunk: a minute has so many milliseconds.
constexpr std::size_t kMostChunkPoints = 60'000;

// Appends the chunk to `out`.
// REQUIRES: between 1 and kMostChunkPoints points, times rising and within [begin, begin + span).
void EncodeChunk(std::span<const core::Point> points, core::UnixMillis begin, std::string& out);

// Any bytes: the points that were encoded, or an error. `begin` and `span` as in encoding.
core::Result<std::vector<core::Point>> DecodeChunk(std::string_view bytes, core::UnixMillis begin,
                                                   std::int64_t span);

// In order of time; of several points of one time the last stays.
void Normalize(std::vector<core::Point>& points);

}  // namespace sharewell::store
