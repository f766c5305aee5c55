// Any bytes as a chunk, a segment and a rollup: points in order within their time, or an error.
// What is read is written again and read as the same.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/samples/chunk.h"
#include "store/samples/rollup.h"
#include "store/samples/segment.h"
#include "store/samples/slot.h"

namespace {

using namespace sharewell;

bool Same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void TryChunk(std::string_view bytes, core::UnixMillis begin, std::int64_t span) {
  const auto points = store::DecodeChunk(bytes, begin, span);
  if (!points) {
    if (points.error().message.empty()) __builtin_trap();
    return;
  }
  if (points->empty()) __builtin_trap();
  for (std::size_t i = 0; i < points->size(); ++i) {
    const core::UnixMillis time = (*points)[i].time;
    if (time < begin || time >= begin + span) __builtin_trap();
    if (i > 0 && time <= (*points)[i - 1].time) __builtin_trap();
  }
  std::string written;
  store::EncodeChunk(*points, begin, written);
  const auto again = store::DecodeChunk(written, begin, span);
  if (!again || again->size() != points->size()) __builtin_trap();
  for (std::size_t i = 0; i < points->size(); ++i) {
    if ((*again)[i].time != (*points)[i].time) __builtin_trap();
    if (!Same((*again)[i].value, (*points)[i].value)) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TryChunk(bytes, 0, store::kMinute);
  TryChunk(bytes, -store::kHour, store::kHour);

  std::size_t slices = 0;
  const auto count = [&](std::int64_t series, const std::vector<core::Point>& points) {
    if (series < 0 || series >= store::kSeriesLimit || points.empty()) __builtin_trap();
    ++slices;
  };
  if (store::DecodeSegment(bytes, 28'000'000, std::nullopt, count) && slices > size) {
    __builtin_trap();
  }
  (void)store::DecodeSegment(bytes, -5, 7, count);

  const auto rollup = store::DecodeRollup(bytes, store::kDay, store::kDay);
  if (rollup) {
    const std::string written = store::EncodeRollup(*rollup, store::kDay);
    if (!store::DecodeRollup(written, store::kDay, store::kDay)) __builtin_trap();
  }
  return 0;
}
