// Configurations: who may run together on one GPU of a model, each with which share of the SMs, and
// how fast each then is. What the optimum with co-location chooses between. Jobs are numbers from
// 0, sets of them are bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "simulation/scenario.h"

namespace sharewell::research {

using JobSet = std::uint32_t;
inline constexpr std::size_t kMostTogether = 3;  // on one GPU: Yeung et al.

struct Configuration {
  JobSet jobs = 0;
  std::uint8_t size = 0;
  std::array<std::uint8_t, kMostTogether> job{};    // rising
  std::array<std::uint8_t, kMostTogether> share{};  // place in Configurations::SharesOf(job)
  std::array<double, kMostTogether> speed{};        // over alone with all SMs
};

struct ConfigurationOptions {
  std::size_t together = kMostTogether;  // at most
  bool sm_shares = true;                 // false: every job has all SMs
  std::uint64_t seed = 1;                // of the world's residuals
};

// Of one GPU model. The scenario must outlive it.
class Configurations {
 public:
  // REQUIRES at most 16 jobs, each of one GPU.
  Configurations(const simulation::Scenario& scenario, core::GpuModelId model,
                 const ConfigurationOptions& options);

  // Seconds of a job alone with all SMs; infinite where it cannot run on this model.
  double AloneSeconds(std::size_t job) const { return alone_[job]; }
  std::size_t jobs() const { return alone_.size(); }

  // The shares of the SMs that a job may be started with, largest first.
  std::span<const core::Ratio> SharesOf(std::size_t job) const { return shares_[job]; }

  // Speeds of these jobs with these shares; null: they do not fit together.
  // REQUIRES size from 1 to kMostTogether, jobs rising, shares of theirs.
  const Configuration* Find(std::span<const std::uint8_t> jobs,
                            std::span<const std::uint8_t> shares) const;

  // Those that are worth running: no other shares make every one of the same jobs as fast or
  // faster.
  const std::vector<Configuration>& useful() const { return useful_; }

 private:
  void Add(const simulation::Scenario& scenario, core::GpuModelId model, std::uint64_t seed,
           JobSet jobs);
  void KeepUseful(std::size_t first);

  std::vector<double> alone_;
  std::vector<std::vector<core::Ratio>> shares_;
  std::vector<Configuration> all_, useful_;
  std::vector<std::int32_t> first_;  // in all_, by JobSet; -1: they do not fit
};

}  // namespace sharewell::research
