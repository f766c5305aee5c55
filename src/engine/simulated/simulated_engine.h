// The simulated engine: a sim::World behind the Engine face. Its GPUs are simulated and say so.
#pragma once

#include "engine/engine.h"
#include "sim/world.h"

namespace sharewell::engine {

class SimulatedEngine : public Engine {
 public:
  explicit SimulatedEngine(sim::World& world) : world_(world) {}
  bool Observe(std::optional<core::Seconds> wake, Observation& out) override;
  void Apply(const core::Plan& plan, Observation& out) override;

 private:
  // A policy that wakes itself up and then does nothing, with nothing left to happen, is done.
  static constexpr int kMostIdleWakes = 10'000;

  void Report(Observation& out);

  sim::World& world_;
  sim::Events events_;
  int idle_wakes_ = 0;
};

}  // namespace sharewell::engine
