#include "core/numbers/steady.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

namespace sharewell::core {
namespace {

constexpr std::size_t kLeastValues = 5;
constexpr std::size_t kMostBatches = 10;
// A cut beyond the middle leaves less than it takes away, so it must be plain: the level before it
// differs by so much of the level after it, and by so many of the deviations there.
constexpr double kPlainChange = 0.5;
constexpr double kPlainDeviations = 3;
// A trend: correlation with time, and what it climbs over the part, of its mean.
constexpr double kTrendShare = 0.9;
constexpr double kTrendClimb = 0.05;

// 97.5 % quantiles of Student's t by degrees of freedom, from 1 on.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
                               2.228,  2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
                               2.093,  2.086, 2.080, 2.074, 2.069, 2.064, 2.060};
constexpr double kNormal = 1.96;

struct Moments {
  double mean = 0, deviation = 0;  // of the sample
};

Moments MomentsOf(std::span<const double> values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

double HalfInterval(std::span<const double> values) {
  const std::size_t freedom = values.size() - 1;
  const double t = freedom <= std::size(kStudent) ? kStudent[freedom - 1] : kNormal;
  return t * MomentsOf(values).deviation / std::sqrt(static_cast<double>(values.size()));
}

// Squares of the standard errors of what is left, for each cut up to the last one allowed.
std::vector<double> CutErrors(std::span<const double> values, std::size_t last) {
  std::vector<double> errors(last + 1);
  // Welford's way from the back: no difference of large sums.
  double mean = 0, squares = 0, count = 0;
  for (std::size_t i = values.size(); i-- > 0;) {
    ++count;
    const double step = values[i] - mean;
    mean += step / count;
    squares += step * (values[i] - mean);
    if (i <= last) errors[i] = squares / (count * count);
  }
  return errors;
}

bool PlainChange(std::span<const double> values, std::size_t cut, std::size_t least) {
  const auto before = MomentsOf(values.subspan(cut - std::min(cut, least), std::min(cut, least)));
  const auto after = MomentsOf(values.subspan(cut));
  const double change = std::abs(before.mean - after.mean);
  return change > kPlainChange * std::abs(after.mean) &&
         change > kPlainDeviations * after.deviation;
}

// A line fits it well, and climbs or falls by more than a little from end to end.
bool StillMoves(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const Moments moments = MomentsOf(values);
  double covariance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    covariance += (static_cast<double>(i) - (n - 1) / 2) * (values[i] - moments.mean);
  }
  const double slope = covariance / (n * (n * n - 1) / 12);
  const double explained = slope * std::sqrt((n * n - 1) / 12 * n / (n - 1));  // deviation by it
  return std::abs(explained) > kTrendShare * moments.deviation &&
         std::abs(slope) * (n - 1) > kTrendClimb * std::abs(moments.mean);
}

}  // namespace

std::size_t LeastValues(const SteadyRules& rules) {
  const double wanted = std::ceil(rules.least / rules.interval - 1e-9);
  return std::max(kLeastValues, static_cast<std::size_t>(std::clamp(wanted, 0.0, 1e9)));
}

std::optional<std::size_t> WarmupEnd(std::span<const double> values, const SteadyRules& rules) {
  const std::size_t least = LeastValues(rules);
  if (values.size() < least) return std::nullopt;
  const std::size_t last = values.size() - least;
  const auto errors = CutErrors(values, last);
  // The earliest of the best: a series without noise must not be cut for rounding's sake.
  const double best = *std::min_element(errors.begin(), errors.end());
  const double scale = std::abs(MomentsOf(values.subspan(last)).mean);
  const double equal = best * (1 + 1e-9) + 1e-20 * scale * scale;
  const auto cut = static_cast<std::size_t>(std::distance(
      errors.begin(),
      std::find_if(errors.begin(), errors.end(), [&](double error) { return error <= equal; })));
  if (StillMoves(values.subspan(cut))) return std::nullopt;
  const bool in_first_half = cut <= values.size() / 2 && (cut < last || cut == 0);
  return in_first_half || PlainChange(values, cut, least) ? std::optional(cut) : std::nullopt;
}

Settling Settle(std::span<const double> steady, const SteadyRules& rules) {
  if (steady.size() < LeastValues(rules)) return {};
  const std::size_t count = std::min(kMostBatches, steady.size());
  const std::size_t size = steady.size() / count;
  std::vector<double> batches;
  for (std::size_t i = steady.size() - count * size; i < steady.size(); i += size) {
    batches.push_back(MomentsOf(steady.subspan(i, size)).mean);
  }
  const double mean = std::abs(MomentsOf(batches).mean);
  const double half = HalfInterval(batches);
  Settling settling;
  settling.settled = half <= std::max(rules.precision * mean, rules.floor);
  if (mean > 0) settling.uncertainty = half / mean;
  return settling;
}

std::optional<Ratio> Uncertainty(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = std::abs(MomentsOf(values).mean);
  if (mean == 0) return std::nullopt;
  return HalfInterval(values) / mean;
}

}  // namespace sharewell::core
