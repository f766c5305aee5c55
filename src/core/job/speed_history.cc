#include "core/job/speed_history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace sharewell::core {
namespace {

constexpr UnixMillis kLooksApart = 10'000;

bool IsSpeedPoint(const SpeedPoint& point) {
  return IsStretch(point.from, point.to) && point.active > 0 &&
         point.active <= point.to - point.from && std::isfinite(point.steps) && point.steps >= 0;
}

}  // namespace

void Join(SpeedPoint& a, const SpeedPoint& b) {
  a.to = b.to;
  a.steps += b.steps;
  a.active += b.active;
}

std::optional<SpeedHistory> SpeedHistory::From(std::vector<SpeedPoint> points,
                                               std::vector<BesideStretch> beside,
                                               std::optional<Counted> last, JobMetrics metrics) {
  if (points.size() > kMostPoints || beside.size() > kMostStretches) return std::nullopt;
  UnixMillis before = 0;
  for (const SpeedPoint& point : points) {
    if (!IsSpeedPoint(point) || point.from < before) return std::nullopt;
    before = point.to;
  }
  before = 0;
  for (const BesideStretch& one : beside) {
    if (!IsStretch(one.from, one.to) || one.from < before) return std::nullopt;
    if (one.jobs.size() > kMostBeside) return std::nullopt;
    before = one.to;
  }
  if (last && (!IsStretch(0, last->at) || !std::isfinite(last->steps))) return std::nullopt;
  SpeedHistory history;
  history.points_ = Thinned(std::move(points));
  history.beside_ = std::move(beside);
  history.last_ = last;
  history.metrics_ = std::move(metrics);
  return history;
}

void SpeedHistory::Count(const Counted& first, const Counted& now, UnixMillis since) {
  if (!last_ || last_->at < since) last_ = first.at >= since ? first : now;
  // It counts anew, or a clock was set back.
  if (now.steps < last_->steps || now.at < last_->at) last_ = now;
  if (now.steps <= last_->steps || now.at <= last_->at) return;
  Add({last_->at, now.at, now.steps - last_->steps, now.at - last_->at});
  last_ = now;
}

void SpeedHistory::Add(SpeedPoint point) {
  if (!points().empty() && point.from < points().back().to) {
    point.from = points().back().to;
    point.active = std::min(point.active, point.to - point.from);
  }
  if (IsSpeedPoint(point)) points_.Add(point);
}

void SpeedHistory::Look(UnixMillis at, std::vector<std::int64_t> beside) {
  std::sort(beside.begin(), beside.end());
  beside.resize(std::min(beside.size(), kMostBeside));
  if (!beside_.empty()) {
    BesideStretch& last = beside_.back();
    if (at < last.to) return;  // a clock that was set back
    const bool seen = at - last.to <= kLooksApart;
    if (seen) last.to = at;
    if (seen && last.jobs == beside) return;
  }
  beside_.push_back({at, at, std::move(beside)});
  if (beside_.size() > kMostStretches) MergeBeside();
}

// The two that follow each other and are shortest together; never the one under way.
void SpeedHistory::MergeBeside() {
  std::size_t shortest = 0;
  const auto length = [&](std::size_t i) { return beside_[i + 1].to - beside_[i].from; };
  for (std::size_t i = 1; i + 2 < beside_.size(); ++i) {
    if (length(i) < length(shortest)) shortest = i;
  }
  BesideStretch &a = beside_[shortest], &b = beside_[shortest + 1];
  std::vector<std::int64_t> all;
  std::set_union(a.jobs.begin(), a.jobs.end(), b.jobs.begin(), b.jobs.end(),
                 std::back_inserter(all));
  all.resize(std::min(all.size(), kMostBeside));
  a = {a.from, b.to, std::move(all)};
  beside_.erase(beside_.begin() + static_cast<std::ptrdiff_t>(shortest) + 1);
}

std::optional<UnixMillis> SpeedHistory::Begin() const {
  std::optional<UnixMillis> begin;
  const auto add = [&](UnixMillis from) { begin = std::min(begin.value_or(from), from); };
  if (!points().empty()) add(points().front().from);
  for (const JobMetric& metric : metrics_.all()) add(metric.points.points().front().from);
  return begin;
}

std::optional<double> SpeedHistory::PerSecond() const {
  SpeedPoint all;
  for (const SpeedPoint& point : points()) Join(all, point);
  return all.active > 0 ? std::optional(all.PerSecond()) : std::nullopt;
}

}  // namespace sharewell::core
