#include "engine/simulated/simulated_steps.h"

#include <algorithm>
#include <bit>

#include "core/numbers/random.h"

namespace sharewell::engine {
namespace {

// Seconds by which a count of steps is late or early. Over the guard's window of 6 s a rate then
// errs by 3.5 %: repeated measurements of one co-location differ by 3.9 % (data/h200).
constexpr double kStepsOff = 0.15;
constexpr double kMostStepsOff = 0.45;  // steps told a second later are more
constexpr double kSmOff = 0.02;         // of what is active

// Which figure a draw is for. The numbers are part of "same seed, same bytes": append only.
enum Figure : std::uint64_t { kSteps = 1, kSm };

double Drawn(std::uint64_t seed, core::JobId job, core::Seconds at, Figure figure) {
  return core::Normal(
      core::HashOf({seed, job.value, std::bit_cast<std::uint64_t>(at.value), figure}));
}

}  // namespace

core::Seconds SimulatedSteps::FirstStep(core::JobId job) const {
  return world_.CourseOf(job).trains_from;
}

std::optional<double> SimulatedSteps::Steps(core::JobId job, core::Seconds at) const {
  const sim::Course course = world_.CourseOf(job);
  if (course.trains_from > at) return std::nullopt;
  const double off =
      std::clamp(kStepsOff * Drawn(seed_, job, at, kSteps), -kMostStepsOff, kMostStepsOff);
  const double back = (world_.now() - at).value;
  return std::max(course.attained.value + (off - back) * course.rate, 0.0);
}

std::optional<core::Ratio> SimulatedSteps::Sm(core::JobId job, core::Seconds at) const {
  const sim::Course course = world_.CourseOf(job);
  if (!course.sm) return std::nullopt;
  return std::clamp(*course.sm * (1 + kSmOff * Drawn(seed_, job, at, kSm)), 0.0, 1.0);
}

}  // namespace sharewell::engine
