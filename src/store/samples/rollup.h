// Rollup: many points as one, of a minute or of an hour, and the buckets of a chart made of either.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "store/store.h"

namespace sharewell::store {

// `a` and `b` of one stretch of time; the later one's last stays. `time` is a's.
Bucket Combine(const Bucket& a, const Bucket& b);

// One bucket for each `span` milliseconds, counted from 1970, in which there is something. `points`
// and `buckets` are in order of time.
std::vector<Bucket> RollUp(std::span<const core::Point> points, std::int64_t span);
std::vector<Bucket> RollUp(std::span<const Bucket> buckets, std::int64_t span);

// The buckets of one block (the minutes of an hour, the hours of a day) as bytes, and back from any
// bytes. REQUIRES: not empty, times rising within [begin, begin + span).
std::string EncodeRollup(std::span<const Bucket> buckets, core::UnixMillis begin);
core::Result<std::vector<Bucket>> DecodeRollup(std::string_view bytes, core::UnixMillis begin,
                                               std::int64_t span);

// Buckets of equal width over a range, filled in any order of time.
class ChartBuckets {
 public:
  // At most `most` of them, each a whole number of `step` milliseconds wide. REQUIRES: from <= to,
  // most > 0, step > 0.
  ChartBuckets(TimeRange range, std::size_t most, std::int64_t step);

  // One that begins before the range counts to the first bucket; from its end on, nowhere.
  void Add(const Bucket& bucket);
  // Those in which there is something.
  std::vector<Bucket> Take() &&;

 private:
  struct Filled {
    Bucket bucket;
    core::UnixMillis last_time = 0;
  };

  TimeRange range_;
  std::int64_t width_ = 1;
  std::vector<Filled> filled_;
};

}  // namespace sharewell::store
