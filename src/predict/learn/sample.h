// Chance for learners: subsets and orders as pure functions of a seed (core/numbers/random.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/numbers/random.h"

namespace sharewell::predict::learn {

// `count` of the numbers 0 to n - 1, ascending; every subset is equally likely (Knuth, TAOCP 2,
// 3.4.2, algorithm S). All of them where count is n or more.
inline std::vector<std::size_t> Sample(std::size_t n, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> out;
  out.reserve(std::min(n, count));
  for (std::size_t i = 0; i < n && out.size() < count; ++i) {
    const double left = static_cast<double>(n - i);
    const double wanted = static_cast<double>(count - out.size());
    if (wanted >= left || core::Uniform(core::HashOf({seed, i})) * left < wanted) out.push_back(i);
  }
  return out;
}

// How many a share of n is: rounded, and at least one.
inline std::size_t ShareOf(std::size_t n, double share) {
  const double count = std::round(share * static_cast<double>(n));
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(count, 1.0)), 1, n);
}

// 0 to n - 1 in random order (Fisher and Yates).
inline std::vector<std::size_t> Shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(out[i - 1], out[core::HashOf({seed, i}) % i]);
  return out;
}

}  // namespace sharewell::predict::learn
