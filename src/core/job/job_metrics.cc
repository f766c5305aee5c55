#include "core/job/job_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sharewell::core {
namespace {

// Its points follow each other, and there is at least one.
bool IsKept(const JobMetric& metric) {
  const auto& points = metric.points.points();
  if (!IsToldMetric(metric.last) || points.empty()) return false;
  UnixMillis before = 0;
  for (const MetricPoint& point : points) {
    const bool good = IsStretch(point.from, point.to) && point.from >= before &&
                      std::abs(point.value) <= kMostMetric && std::isfinite(point.told) &&
                      point.told >= 1;
    if (!good) return false;
    before = point.to;
  }
  return points.size() <= Thinned<MetricPoint>::kMostPoints;
}

}  // namespace

bool IsToldMetric(const ToldMetric& told) {
  return IsMetricName(told.name) && IsStretch(0, told.at) && std::abs(told.value) <= kMostMetric &&
         (!told.step || (*told.step >= 0 && *told.step <= kLastMetricStep));
}

void Join(MetricPoint& a, const MetricPoint& b) {
  const double told = a.told + b.told;
  a.to = b.to;
  // No rounding makes it larger than any of them may be.
  a.value = std::clamp((a.value * a.told + b.value * b.told) / told, -kMostMetric, kMostMetric);
  a.told = told;
}

std::optional<JobMetrics> JobMetrics::From(std::vector<JobMetric> all) {
  if (all.size() > kMostMetrics || !std::all_of(all.begin(), all.end(), IsKept)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].last.name == all[j].last.name) return std::nullopt;
    }
  }
  JobMetrics metrics;
  metrics.all_ = std::move(all);
  return metrics;
}

void JobMetrics::Hear(const ToldMetric& told) {
  if (!IsToldMetric(told)) return;
  auto found = std::find_if(all_.begin(), all_.end(),
                            [&](const JobMetric& one) { return one.last.name == told.name; });
  if (found == all_.end()) {
    if (all_.size() >= kMostMetrics) return;
    found = all_.insert(all_.end(), JobMetric{told, {}});
  } else if (found->last.at == told.at) {
    return;
  }
  found->last = told;
  // Where a clock was set back, it stands at the end all the same.
  const auto& before = found->points.points();
  const UnixMillis at = before.empty() ? told.at : std::max(told.at, before.back().to);
  found->points.Add({at, at, told.value, 1});
}

}  // namespace sharewell::core
