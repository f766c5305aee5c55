// Randomness as a pure function: a draw is a hash of what it is for (seed, job, figure), so adding
// one draw never shifts another, and no generator is carried around.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace sharewell::core {

// SplitMix64's finaliser (Steele, Lea and Flood, 2014).
constexpr std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t HashOf(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t h = 0x853c49e6748fea9bULL;
  for (std::uint64_t part : parts) h = Mix(h ^ Mix(part));
  return h;
}

// Uniform in (0, 1): never 0, so that its logarithm exists.
constexpr double Uniform(std::uint64_t hash) {
  return (static_cast<double>(Mix(hash) >> 11) + 0.5) * 0x1.0p-53;
}

// Standard normal (Box and Muller, 1958).
inline double Normal(std::uint64_t hash) {
  return std::sqrt(-2 * std::log(Uniform(hash))) *
         std::cos(2 * std::numbers::pi * Uniform(hash ^ 0x5851f42d4c957f2dULL));
}

}  // namespace sharewell::core
