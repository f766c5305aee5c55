// ProjectStanding: which projects are below their share of the GPUs, while a plan is made. A share
// is of all GPUs of the cluster, whatever can be used of them now. A GPU that is given in the same
// decision counts whole; from the next one on, a job counts the part of it that it has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/snapshot.h"
#include "core/units.h"

namespace sharewell::policy {

class ProjectStanding {
 public:
  // `shares`: by project; empty: there are no projects, and nobody is above a share.
  ProjectStanding(const core::Snapshot& snapshot, std::span<const core::Ratio> shares);

  // It has its share, or more. REQUIRES: it is one of the projects, if there are any.
  bool Has(std::uint32_t project) const { return !left_.empty() && left_[project] <= kNothing; }
  // One of its jobs is given so many GPUs.
  void Give(std::uint32_t project, int gpus) {
    if (!left_.empty()) left_[project] -= gpus;
  }

 private:
  // Three thirds of a GPU are one, whatever they sum to.
  static constexpr double kNothing = 1e-6;
  std::vector<double> left_;  // GPUs of its share that it does not have in use
};

// By project, before anything is given.
std::vector<bool> HaveShare(const core::Snapshot& snapshot, std::span<const core::Ratio> shares);

}  // namespace sharewell::policy
