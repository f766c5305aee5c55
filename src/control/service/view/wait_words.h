// Why a job waits, in words, with who has what it is short of. Made for one plan, in which several
// may wait for the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/service/jobs/live_jobs.h"
#include "control/service/view/gpu_table.h"
#include "core/plan.h"
#include "core/snapshot.h"

namespace sharewell::control {

class WaitWords {
 public:
  // All must outlive it. `snapshot` is the one that was decided on; those whom `plan` starts have
  // what it gives them.
  WaitWords(const core::Snapshot& snapshot, const core::Plan& plan, const LiveJobs& live,
            const GpuTable& gpus);

  std::string Of(const core::Reason& reason);

 private:
  void Count(core::JobId id, const core::Allocation& where);
  std::string Named(core::JobId id) const;  // "job 3 of ann"; empty: it is nobody's
  // Who has how much of it on that node, those who have most first.
  using Holders = std::map<core::NodeId, std::vector<std::pair<double, core::JobId>>>;
  std::string Held(const Holders& by_node, core::NodeId node,
                   const std::function<std::string(double)>& amount) const;
  const std::string& WhoHasCores(core::NodeId node);
  const std::string& WhoHasMemory(core::NodeId node);
  std::string OnGpu(core::GpuId gpu) const;
  std::string GpusTaken() const;

  const core::Snapshot& snapshot_;
  const LiveJobs& live_;
  const GpuTable& gpus_;
  Holders cores_, memory_;
  std::map<core::GpuId, std::vector<core::JobId>> on_;
  std::map<core::NodeId, std::string> cores_said_, memory_said_;
};

// "; node n1: no agent is heard there": of a job that waits because GPUs are not shared that could
// be. `why`: by node. Empty: there is no such node, or it waits for something else.
std::string WhyNotShared(const core::Reason& reason, const core::Cluster& cluster,
                         const std::map<core::NodeId, std::string>& why);

}  // namespace sharewell::control
