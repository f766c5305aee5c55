#include "store/samples/segment.h"

#include "core/result.h"
#include "store/samples/bits.h"
#include "store/samples/chunk.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

constexpr unsigned kSegmentFormat = 1;

}  // namespace

std::string EncodeSegment(std::span<const Slice> slices, std::int64_t minute) {
  std::string out, chunk;
  PutByte(out, kSegmentFormat);
  PutVarint(out, slices.size());
  std::int64_t before = 0;
  for (const Slice& slice : slices) {
    chunk.clear();
    EncodeChunk(slice.points, minute * kMinute, chunk);
    PutVarint(out, static_cast<std::uint64_t>(slice.series - before));
    PutVarint(out, chunk.size());
    out += chunk;
    before = slice.series;
  }
  return out;
}

core::Result<void> DecodeSegment(std::string_view bytes, std::int64_t minute,
                                 std::optional<std::int64_t> only, const SliceReader& read) {
  return DecodeSegment(bytes, minute, only ? SeriesRange{*only, *only + 1} : SeriesRange{}, read);
}

core::Result<void> DecodeSegment(std::string_view bytes, std::int64_t minute, SeriesRange range,
                                 const SliceReader& read) {
  ByteReader reader(bytes);
  if (reader.Byte() != kSegmentFormat) {
    return core::FailedError("the journal is damaged, or was written by a newer program");
  }
  const std::uint64_t count = reader.Varint();
  std::uint64_t series = 0;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    series += reader.Varint();
    const std::string_view chunk = reader.Bytes(reader.Varint());
    if (!reader.ok() || series >= static_cast<std::uint64_t>(kSeriesLimit)) break;
    const auto id = static_cast<std::int64_t>(series);
    if (id >= range.to) return {};
    if (id < range.from) continue;
    auto points = DecodeChunk(chunk, minute * kMinute, kMinute);
    RETURN_IF_ERROR(points);
    read(id, std::move(*points));
  }
  if (!reader.ok() || series >= static_cast<std::uint64_t>(kSeriesLimit)) {
    return core::FailedError("the journal is damaged");
  }
  return {};
}

}  // namespace sharewell::store
