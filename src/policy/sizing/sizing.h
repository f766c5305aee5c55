// Sizing: how many CPU cores a job is given.
#pragma once

#include <memory>

#include "core/snapshot.h"

namespace sharewell::policy {

class Sizing {
 public:
  virtual ~Sizing() = default;
  // Cores a GPU for a training job on nodes of that model; `nodes` is how many it spans.
  virtual double CoresAGpu(const core::Snapshot& snapshot, const core::JobView& view,
                           core::GpuModelId model, int nodes) const = 0;
  // True: CPU-only jobs only fill what is left, and give way when a training job needs it.
  virtual bool CpuJobsGiveWay() const { return false; }
};

// What the user asked for; where nothing was asked, the node's cores shared out over its GPUs, as
// most clusters do; where the node's cores are not known either, what the job can use.
std::unique_ptr<Sizing> NewAskedSizing();

// The cores a job can use and no more (CODA): the fewest whole cores that keep 98 % of its
// throughput, linear in its GPUs on one node; over several nodes the network leaves time to prepare
// data, and two cores a node are enough. Never more than asked for where the job's cores are fixed.
std::unique_ptr<Sizing> NewSlimSizing();

}  // namespace sharewell::policy
