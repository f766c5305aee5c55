// What a job may tell of itself beside its steps, such as its loss: how many numbers, how large,
// and by which names. Plain: the job's supervisor, which has nothing but libc, asks too.
#pragma once

#include <cstddef>
#include <string_view>

namespace sharewell::core {

inline constexpr std::size_t kMostMetrics = 4;  // of a job
inline constexpr std::size_t kLongestMetricName = 32;
inline constexpr double kMostMetric = 1e30;  // either way of 0: what can still be drawn
inline constexpr long long kLastMetricStep = 999'999'999'999'999;

constexpr bool IsMetricName(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '/';
    if (!letter && !other) return false;
  }
  return !name.empty() && name.size() <= kLongestMetricName;
}

}  // namespace sharewell::core
