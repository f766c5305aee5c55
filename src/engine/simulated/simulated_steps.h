// What jobs of a simulated world tell a server that watches them: truth with the error of one look,
// drawn by seed. A guard that reads it knows no more than a real one.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/step_source.h"
#include "sim/world.h"

namespace sharewell::engine {

class SimulatedSteps final : public StepSource {
 public:
  // The world must outlive it.
  SimulatedSteps(const sim::World& world, std::uint64_t seed) : world_(world), seed_(seed) {}
  // A step is a second of work alone on the reference model. Before now the job is taken to have
  // gone as fast as it goes now: true as long as nobody came to its GPU or left it.
  core::Seconds FirstStep(core::JobId job) const override;
  std::optional<double> Steps(core::JobId job, core::Seconds at) const override;
  std::optional<core::Ratio> Sm(core::JobId job, core::Seconds at) const override;

 private:
  const sim::World& world_;
  std::uint64_t seed_;
};

}  // namespace sharewell::engine
