// SpeedHistory: how many steps a second a job did over its whole life, beside whom, and what it
// told of itself meanwhile, in bounded memory (thinned.h). Only resolution is lost: steps and times
// add up as before. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/job/job_metrics.h"
#include "core/metric.h"
#include "core/thinned.h"

namespace sharewell::core {

// Steps that were done in a stretch of time.
struct SpeedPoint {
  UnixMillis from = 0, to = 0;
  double steps = 0;
  UnixMillis active = 0;  // of that time: less where it did not run in between

  double PerSecond() const { return steps * 1e3 / static_cast<double>(active); }
  friend bool operator==(const SpeedPoint&, const SpeedPoint&) = default;
};
void Join(SpeedPoint& a, const SpeedPoint& b);

// A stretch of time with the same neighbours. Of one that was made of several: all of theirs.
struct BesideStretch {
  UnixMillis from = 0, to = 0;
  std::vector<std::int64_t> jobs;  // rising; empty: it was alone

  friend bool operator==(const BesideStretch&, const BesideStretch&) = default;
};

class SpeedHistory {
 public:
  static constexpr std::size_t kMostPoints = Thinned<SpeedPoint>::kMostPoints;
  static constexpr std::size_t kMostStretches = 120, kMostBeside = 64;

  struct Counted {
    UnixMillis at = 0;
    double steps = 0;  // of the run under way
    friend bool operator==(const Counted&, const Counted&) = default;
  };

  SpeedHistory() = default;
  // As it was kept. Absent: that is no history (times that go back, too many points ..).
  static std::optional<SpeedHistory> From(std::vector<SpeedPoint> points,
                                          std::vector<BesideStretch> beside,
                                          std::optional<Counted> last, JobMetrics metrics = {});

  // The run that began, or went on, at `since` has done `now.steps`; `first`: the first that was
  // heard of it. What was done between two counts lies evenly between them, a server's absence
  // included.
  void Count(const Counted& first, const Counted& now, UnixMillis since);
  // Who shares its GPUs now. Looks that are farther apart than 10 s leave a gap.
  void Look(UnixMillis at, std::vector<std::int64_t> beside);
  // What it told of itself; again where it is not new.
  void Hear(const ToldMetric& told) { metrics_.Hear(told); }

  // In order of time; they do not overlap.
  const std::vector<SpeedPoint>& points() const { return points_.points(); }
  const std::vector<BesideStretch>& beside() const { return beside_; }
  const std::optional<Counted>& last() const { return last_; }
  const JobMetrics& metrics() const { return metrics_; }
  // When the first of its points begins, or of its metrics' points. Absent: it has none.
  std::optional<UnixMillis> Begin() const;
  // Steps a second between its first step and its last. Absent: fewer than two counts.
  std::optional<double> PerSecond() const;

  friend bool operator==(const SpeedHistory&, const SpeedHistory&) = default;

 private:
  void Add(SpeedPoint point);
  void MergeBeside();

  Thinned<SpeedPoint> points_;
  std::vector<BesideStretch> beside_;
  std::optional<Counted> last_;
  JobMetrics metrics_;
};

}  // namespace sharewell::core
