#include "store/samples/rollup.h"

#include <algorithm>

#include "core/result.h"
#include "store/samples/bits.h"
#include "store/samples/chunk.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

Bucket BucketOfPoint(const core::Point& point) {
  return {point.time, point.value, point.value, point.value, point.value, 1};
}

double MeanOf(const Bucket& a, const Bucket& b) {
  const auto n = static_cast<double>(a.samples), m = static_cast<double>(b.samples);
  // Not the sum first: two values near the largest double have a mean too.
  return a.mean * (n / (n + m)) + b.mean * (m / (n + m));
}

void AddTo(std::vector<Bucket>& rolled, Bucket bucket, std::int64_t span) {
  bucket.time = BlockOf(bucket.time, span) * span;
  if (!rolled.empty() && rolled.back().time == bucket.time) {
    rolled.back() = Combine(rolled.back(), bucket);
  } else {
    rolled.push_back(bucket);
  }
}

}  // namespace

Bucket Combine(const Bucket& a, const Bucket& b) {
  return {.time = a.time,
          .least = std::min(a.least, b.least),
          .most = std::max(a.most, b.most),
          .mean = MeanOf(a, b),
          .last = b.last,
          .samples = a.samples + b.samples};
}

std::vector<Bucket> RollUp(std::span<const core::Point> points, std::int64_t span) {
  std::vector<Bucket> rolled;
  for (const core::Point& point : points) AddTo(rolled, BucketOfPoint(point), span);
  return rolled;
}

std::vector<Bucket> RollUp(std::span<const Bucket> buckets, std::int64_t span) {
  std::vector<Bucket> rolled;
  for (const Bucket& bucket : buckets) AddTo(rolled, bucket, span);
  return rolled;
}

// Five chunks, one for each figure: they are series of their own, and slow ones.
std::string EncodeRollup(std::span<const Bucket> buckets, core::UnixMillis begin) {
  std::string out, chunk;
  std::vector<core::Point> column(buckets.size());
  const auto put = [&](auto figure) {
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      column[i] = {buckets[i].time, static_cast<double>(figure(buckets[i]))};
    }
    chunk.clear();
    EncodeChunk(column, begin, chunk);
    PutVarint(out, chunk.size());
    out += chunk;
  };
  put([](const Bucket& b) { return b.least; });
  put([](const Bucket& b) { return b.most; });
  put([](const Bucket& b) { return b.mean; });
  put([](const Bucket& b) { return b.last; });
  put([](const Bucket& b) { return b.samples; });
  return out;
}

core::Result<std::vector<Bucket>> DecodeRollup(std::string_view bytes, core::UnixMillis begin,
                                               std::int64_t span) {
  const auto damaged = core::FailedError("a rollup is damaged");
  ByteReader reader(bytes);
  std::vector<Bucket> buckets;
  for (int column = 0; column < 5; ++column) {
    const std::string_view chunk = reader.Bytes(reader.Varint());
    if (!reader.ok()) return damaged;
    const auto points = DecodeChunk(chunk, begin, span);
    RETURN_IF_ERROR(points);
    if (column == 0) buckets.resize(points->size());
    if (points->size() != buckets.size()) return damaged;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const auto [time, value] = (*points)[i];
      Bucket& bucket = buckets[i];
      if (column > 0 && bucket.time != time) return damaged;
      if (column == 4 && !(value >= 1 && value < 9e15)) return damaged;
      switch (column) {
        case 0:
          bucket.time = time, bucket.least = value;
          break;
        case 1:
          bucket.most = value;
          break;
        case 2:
          bucket.mean = value;
          break;
        case 3:
          bucket.last = value;
          break;
        default:
          bucket.samples = static_cast<std::int64_t>(value);
      }
    }
  }
  return buckets;
}

ChartBuckets::ChartBuckets(TimeRange range, std::size_t most, std::int64_t step) : range_(range) {
  const std::int64_t length = std::max<std::int64_t>(range.to - range.from, 1);
  const auto count =
      static_cast<std::int64_t>(std::min<std::size_t>(most, static_cast<std::size_t>(length)));
  width_ = (length + count - 1) / count;
  width_ = (width_ + step - 1) / step * step;
  filled_.resize(static_cast<std::size_t>((length + width_ - 1) / width_));
}

void ChartBuckets::Add(const Bucket& bucket) {
  if (bucket.time >= range_.to || bucket.samples <= 0) return;
  const std::int64_t since = std::max<std::int64_t>(bucket.time - range_.from, 0);
  const std::int64_t index = since / width_;
  Filled& filled = filled_[static_cast<std::size_t>(index)];
  if (filled.bucket.samples == 0) {
    filled = {bucket, bucket.time};
    filled.bucket.time = range_.from + index * width_;
    return;
  }
  const double last = filled.bucket.last;
  filled.bucket = Combine(filled.bucket, bucket);
  if (bucket.time < filled.last_time) filled.bucket.last = last;
  filled.last_time = std::max(filled.last_time, bucket.time);
}

std::vector<Bucket> ChartBuckets::Take() && {
  std::vector<Bucket> buckets;
  for (const Filled& filled : filled_) {
    if (filled.bucket.samples == 0) continue;
    buckets.push_back(filled.bucket);
    buckets.back().last_time = filled.last_time;
  }
  return buckets;
}

}  // namespace sharewell::store
