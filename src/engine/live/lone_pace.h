// How fast a job is by itself, and what it tells of its steps.
#pragma once

#include <optional>
#include <vector>

#include "core/job/job_metrics.h"
#include "core/units.h"

namespace sharewell::engine {

// How fast a job is alone where it is placed.
struct LonePace {
  // Steps a second; absent: not known, and the job is taken to run at `rate`.
  std::optional<double> steps;
  core::Ratio rate = 1;  // work (seconds alone on the reference model) a second
  // That it may need of each GPU; absent: not known.
  std::optional<core::Bytes> gpu_memory = {};
};

// Steps of the attempt under way.
struct StepCount {
  double steps = 0;
  core::Seconds told_at;    // there were so many then
  bool by_watcher = false;  // counted from inside of it, not told by its author
  double first = 0;         // of these, when it was first heard that there are any
  core::Seconds first_at;

  // Over all that was heard, for people: nobody is judged by it.
  std::optional<double> PerSecond() const {
    const core::Seconds passed = told_at - first_at;
    if (steps < 2 || steps <= first || passed.value <= 0) return std::nullopt;
    return (steps - first) / passed.value;
  }

  friend bool operator==(const StepCount&, const StepCount&) = default;
};

// What a job told of itself.
struct Heard {
  std::optional<StepCount> steps = {};  // in the attempt under way; absent: none told
  // The last of each of its metrics; of an earlier attempt where this one told none.
  std::vector<core::ToldMetric> metrics = {};
};

}  // namespace sharewell::engine
