#include "predict/learn/judge/conformal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result.h"

namespace sharewell::predict::learn {
namespace {

// (n + 1) p in doubles may miss a whole number by a rounding: 0.95 x 20 must be 19.
constexpr double kRounding = 1e-9;

// REQUIRES ascending residuals, at least one.
double OrderStatistic(const std::vector<double>& sorted, double p) {
  const double n = static_cast<double>(sorted.size());
  const double place = (n + 1) * p;
  const double k = p >= 0.5 ? std::ceil(place - kRounding) : std::floor(place + kRounding);
  return sorted[static_cast<std::size_t>(std::clamp(k, 1.0, n)) - 1];
}

using Weighted = std::pair<double, double>;  // residual, weight; weights sum to 1

// The smallest residual at which the weights so far reach `p`. REQUIRES at least one.
double ReachedAt(const std::vector<Weighted>& sorted, double p) {
  double sum = 0;
  for (const auto& [value, weight] : sorted) {
    sum += weight;
    if (sum >= p - kRounding) return value;
  }
  return sorted.back().first;
}

// Over `families` families, each with weight 1 / families in all.
double MeanOfFamilies(std::vector<Weighted> weighted, double families, double p) {
  std::sort(weighted.begin(), weighted.end());
  const double beyond = (families + 1) / families;
  if (p > 0.5) return ReachedAt(weighted, p * beyond);
  if (p == 0.5) return ReachedAt(weighted, p);
  // A lower bound is an upper bound of the negated residuals.
  for (Weighted& w : weighted) w.first = -w.first;
  std::reverse(weighted.begin(), weighted.end());
  return -ReachedAt(weighted, (1 - p) * beyond);
}

core::Result<void> Check(std::span<const Residual> residuals, const ConformalOptions& options) {
  if (residuals.empty()) {
    return core::UsageError("there are no residuals to calibrate with: hold rows out first");
  }
  for (const Residual& residual : residuals) {
    if (!std::isfinite(residual.value)) {
      return core::UsageError("a residual of family \"{}\" is no finite number", residual.family);
    }
    if (!(residual.scale > 0) || !std::isfinite(residual.scale)) {
      return core::UsageError("a residual of family \"{}\" has scale {}; it must be above 0",
                              residual.family, residual.scale);
    }
  }
  for (double level : options.levels) {
    if (!(level > 0 && level < 1)) {
      return core::UsageError("level {} is not between 0 and 1", level);
    }
  }
  return {};
}

}  // namespace

core::Result<Conformal> Calibrate(std::span<const Residual> residuals,
                                  const ConformalOptions& options) {
  RETURN_IF_ERROR(Check(residuals, options));
  std::map<std::string, std::vector<double>> by_family;
  std::vector<double> all;
  for (const Residual& residual : residuals) {
    all.push_back(residual.value / residual.scale);
    by_family[residual.family].push_back(all.back());
  }
  std::sort(all.begin(), all.end());
  std::vector<Weighted> weighted;
  const double families = static_cast<double>(by_family.size());
  for (auto& [name, values] : by_family) {
    std::sort(values.begin(), values.end());
    const double weight = 1 / (families * static_cast<double>(values.size()));
    for (double value : values) weighted.emplace_back(value, weight);
  }

  Conformal out;
  out.levels = options.levels;
  std::sort(out.levels.begin(), out.levels.end());
  for (double level : out.levels) {
    out.pooled.push_back(options.families_equal ? MeanOfFamilies(weighted, families, level)
                                                : OrderStatistic(all, level));
  }
  if (!options.by_family) return out;
  for (const auto& [name, values] : by_family) {
    if (name.empty() || values.size() < std::max<std::size_t>(options.least_of_family, 1)) continue;
    auto& offsets = out.family[name];
    for (double level : out.levels) offsets.push_back(OrderStatistic(values, level));
  }
  return out;
}

double Conformal::Offset(std::size_t level, const std::string& family_name, double scale) const {
  SHAREWELL_CHECK(level < levels.size());
  const auto own = family.find(family_name);
  return (own == family.end() ? pooled : own->second)[level] * scale;
}

}  // namespace sharewell::predict::learn
