// GpuBreakers: workloads of which a run broke its GPU under its neighbours. That user's later runs
// of the same are alone on their GPUs, until one of them has finished well. The loop's thread.
//
// Nothing is stored but JobRecord::broke_gpu: after a restart it is found out from the jobs that
// the server reads anyhow, so that a workload that broke a GPU thousands of jobs ago may be
// forgotten then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/job/job_record.h"

namespace sharewell::control {

class GpuBreakers {
 public:
  // Jobs as the store has them: those that are over, in any order, and those that are not.
  void Restore(std::span<const core::JobRecord> over, std::span<const core::JobRecord> live);
  // A run of it has ended. `broke`: and broke its GPU. True: others of the same are to be started
  // otherwise than before.
  bool TakeEnd(const core::JobRecord& job, bool broke);
  // The job for whose sake it is to be alone; absent: it need not be.
  std::optional<std::int64_t> BrokenBy(const core::JobRecord& job) const;

 private:
  std::map<std::string, std::int64_t> broken_;  // by user and workload: the job that did it
};

// Whether they are runs of the same, by the same user.
bool AreOfOneKind(const core::JobRecord& a, const core::JobRecord& b);

}  // namespace sharewell::control
