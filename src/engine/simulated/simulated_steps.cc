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

}  // namespace

StepReading SimulatedSteps::Read(core::JobId job, core::Seconds at) const {
  const auto drawn = [&](Figure figure) {
    const auto when = std::bit_cast<std::uint64_t>(at.value);
    return core::Normal(core::HashOf({seed_, job.value, when, figure}));
  };
  StepReading reading;
  const sim::Course course = world_.CourseOf(job);
  reading.first_step = course.trains_from;
  if (reading.first_step <= at) {
    const double off = std::clamp(kStepsOff * drawn(kSteps), -kMostStepsOff, kMostStepsOff);
    const double back = (world_.now() - at).value;
    const double steps = course.attained.value + (off - back) * course.rate;
    reading.steps = std::max(steps, 0.0);
  }
  if (course.sm) {
    reading.sm = std::clamp(*course.sm * (1 + kSmOff * drawn(kSm)), 0.0, 1.0);
  }
  return reading;
}

}  // namespace sharewell::engine
