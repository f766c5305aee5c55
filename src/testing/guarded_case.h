// The guard over a case that is run in a simulated world, for tests: as `sharewell simulate` has
// it.
#pragma once

#include "control/loop/event_readings.h"
#include "control/loop/loop.h"
#include "engine/simulated/simulated_steps.h"
#include "sim/world.h"
#include "testing/random_case.h"

namespace sharewell::fixtures {

class GuardedCase {
 public:
  // What the policy is to believe of co-locations: give it to the policy before anything else.
  explicit GuardedCase(const Case& c) : believed(c.interference) {}

  // From now on the loop is guarded. All must outlive it.
  void Watch(control::Loop& loop, const sim::World& world, std::uint64_t seed,
             core::Ratio max_slowdown = 1.25) {
    steps_.emplace(world, seed);
    readings_.emplace(guard_, *steps_,
                      control::EventReadingsOptions{
                          max_slowdown,
                          [](const core::Demand& demand, core::Ratio share) {
                            return std::optional(interference::SpeedAlone(demand, share));
                          },
                          [&](const core::Snapshot& at, const control::MeasuredPair& pair) {
                            const core::JobView &a = at.job(pair.a), &b = at.job(pair.b);
                            if (!a.job.workload.valid() || !b.job.workload.valid()) return;
                            believed.Learn(at.cluster().ModelOf(a.allocation.gpus.front()),
                                           a.job.workload, b.job.workload, pair.speed_a,
                                           pair.speed_b.value_or(1), pair.sm_share_a,
                                           pair.sm_share_b);
                          }});
    loop.Watch(guard_, *readings_);
  }

  interference::Interference believed;

 private:
  control::Guard guard_;
  std::optional<engine::SimulatedSteps> steps_;
  std::optional<control::EventReadings> readings_;
};

}  // namespace sharewell::fixtures
