#include "simulation/simulated_estimator.h"

#include <utility>

#include "core/numbers/random.h"
#include "estimate/needs_estimate.h"

namespace sharewell::simulation {
namespace {

// What the draw is for, beside those of sim/belief.cc.
constexpr std::uint64_t kKnown = 1'000'000;

// What is submitted with nothing but the command.
core::Submission AskedBy(const core::Job& job, const core::Cluster& cluster) {
  core::Submission asked;
  asked.gpus = job.gpus;
  asked.cores = job.cores;
  for (const core::GpuModelId model : job.allowed_models) {
    asked.gpu_models.push_back(cluster.model(model).name);
  }
  return asked;
}

}  // namespace

SimulatedEstimator::SimulatedEstimator(const Scenario& scenario, const SimulateOptions& options)
    : scenario_(scenario), belief_(options.belief), known_(options.known) {}

bool SimulatedEstimator::Knows(core::JobId job) const {
  if (!known_ || scenario_.jobs[job.index()].gpus == 0) return true;
  return core::Uniform(core::HashOf({belief_.seed, job.value, kKnown})) < *known_;
}

core::Estimate SimulatedEstimator::Told(const core::Job& job) const {
  return sim::Believe(job, scenario_.truth[job.id.index()], belief_);
}

core::Estimate SimulatedEstimator::Believe(const core::Job& job) const {
  core::Estimate believed = Told(job);
  if (Knows(job.id)) return believed;
  core::Needs nothing;
  nothing.sources = core::Sources::All(core::Source::kAssumed);
  core::Estimate estimate =
      estimate::EstimateFor(nothing, AskedBy(job, scenario_.cluster), scenario_.cluster,
                            [](const std::string&) { return nullptr; });
  estimate.duration = believed.duration;
  for (std::size_t m = 0; m < estimate.on.size(); ++m) {
    if (believed.on[m].rate <= 0)
      estimate.on[m].rate = 0;  // where it does not run is its user's to say
  }
  return estimate;
}

core::Estimate SimulatedEstimator::Measured(const core::Job& job) {
  return sim::Measured(job, scenario_.truth[job.id.index()], belief_);
}

}  // namespace sharewell::simulation
