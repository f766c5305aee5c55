// What a number may be.
#pragma once

#include <cstdint>
#include <limits>

namespace sharewell::json {

struct Within {
  double least = -1e300, most = 1e300;
};

// The same of a whole number.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

}  // namespace sharewell::json
