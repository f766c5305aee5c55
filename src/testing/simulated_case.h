// A case as a world behind an engine: what the loop needs to run it.
#pragma once

#include <functional>
#include <utility>

#include "engine/simulated/simulated_engine.h"
#include "sim/belief.h"
#include "sim/world.h"
#include "testing/random_case.h"

namespace sharewell::fixtures {

class SimulatedCase {
 public:
  // `c` must outlive it.
  explicit SimulatedCase(const Case& c, core::Seconds restart_cost = core::Seconds(30),
                         std::function<bool(core::JobId)> tells = {})
      : world(c.cluster, c.jobs, c.truth, c.interference,
              {.seed = c.belief.seed, .restart_cost = restart_cost, .tells = std::move(tells)}),
        engine(world) {}

  sim::World world;
  engine::SimulatedEngine engine;
};

}  // namespace sharewell::fixtures
