#include "research/optimum/configurations.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "policy/placement/sm_shares.h"
#include "sim/true_speed.h"

namespace sharewell::research {

Configurations::Configurations(const simulation::Scenario& scenario, core::GpuModelId model,
                               const ConfigurationOptions& options)
    : first_(std::size_t{1} << scenario.jobs.size(), -1) {
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const core::Job& job = scenario.jobs[j];
    const auto& on = scenario.truth[j].on[model.index()];
    const auto& allowed = job.allowed_models;
    const bool may =
        (allowed.empty() || std::find(allowed.begin(), allowed.end(), model) != allowed.end()) &&
        on.rate > 0 && on.demand.gpu_memory <= scenario.cluster.model(model).memory;
    alone_.push_back(may ? scenario.truth[j].work.value / on.rate
                         : std::numeric_limits<double>::infinity());
    if (job.sm_share) {
      shares_.push_back({*job.sm_share});
    } else if (!options.sm_shares || job.exclusive) {
      shares_.push_back({1});
    } else {
      shares_.emplace_back(policy::kSmShares.begin(), policy::kSmShares.end());
    }
  }
  const auto sets = static_cast<JobSet>(first_.size());
  for (JobSet jobs = 1; jobs < sets; ++jobs) {
    const auto size = static_cast<std::size_t>(std::popcount(jobs));
    if (size <= std::min(options.together, kMostTogether)) {
      Add(scenario, model, options.seed, jobs);
    }
  }
}

void Configurations::Add(const simulation::Scenario& scenario, core::GpuModelId model,
                         std::uint64_t seed, JobSet jobs) {
  Configuration one;
  one.jobs = jobs;
  core::Bytes memory;
  for (std::size_t j = 0; j < alone_.size(); ++j) {
    if ((jobs >> j & 1) == 0) continue;
    if (alone_[j] == std::numeric_limits<double>::infinity()) return;
    one.job[one.size++] = static_cast<std::uint8_t>(j);
    memory += scenario.truth[j].on[model.index()].demand.gpu_memory;
    if (scenario.jobs[j].exclusive && jobs != JobSet{1} << j) return;
  }
  if (memory > scenario.cluster.model(model).memory) return;
  std::array<interference::Resident, kMostTogether> residents;
  for (std::size_t i = 0; i < one.size; ++i) {
    const std::size_t j = one.job[i];
    residents[i] = {scenario.jobs[j].workload, &scenario.truth[j].on[model.index()].demand, 1};
  }
  const std::span<const interference::Resident> group(residents.data(), one.size);
  if (!scenario.interference.Fits(model, group)) return;
  const std::size_t first = all_.size();
  first_[jobs] = static_cast<std::int32_t>(first);
  // Counts through the shares as through digits, the last job's fastest: Find relies on it.
  while (true) {
    for (std::size_t i = 0; i < one.size; ++i) {
      residents[i].sm_share = shares_[one.job[i]][one.share[i]];
    }
    for (std::size_t i = 0; i < one.size; ++i) {
      one.speed[i] = sim::TrueSpeed(scenario.interference, seed, model, group, i);
    }
    all_.push_back(one);
    std::size_t digit = one.size;
    while (digit > 0 && ++one.share[digit - 1] == shares_[one.job[digit - 1]].size()) {
      one.share[--digit] = 0;
    }
    if (digit == 0) break;
  }
  KeepUseful(first);
}

void Configurations::KeepUseful(std::size_t first) {
  const auto no_slower = [](const Configuration& a, const Configuration& b) {
    for (std::size_t i = 0; i < a.size; ++i) {
      if (a.speed[i] < b.speed[i]) return false;
    }
    return true;
  };
  for (std::size_t k = first; k < all_.size(); ++k) {
    bool beaten = false;
    for (std::size_t other = first; other < all_.size() && !beaten; ++other) {
      if (other == k || !no_slower(all_[other], all_[k])) continue;
      // Of equals the first stays.
      beaten = other < k || !no_slower(all_[k], all_[other]);
    }
    if (!beaten) useful_.push_back(all_[k]);
  }
}

const Configuration* Configurations::Find(std::span<const std::uint8_t> jobs,
                                          std::span<const std::uint8_t> shares) const {
  JobSet set = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    set |= JobSet{1} << jobs[i];
    at = at * shares_[jobs[i]].size() + shares[i];
  }
  if (first_[set] < 0) return nullptr;
  return &all_[static_cast<std::size_t>(first_[set]) + at];
}

}  // namespace sharewell::research
