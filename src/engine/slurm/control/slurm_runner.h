// SlurmRunner: jobs of a Slurm cluster's users, which Slurm starts, keeps and accounts for, and
// which are placed here. A thread of its own asks and tells Slurm (slurm_control.h); nothing waits
// for it but Recover.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/cluster_runner.h"
#include "engine/slurm/control/slurm_control.h"
#include "platform/mutex.h"

namespace sharewell::engine {

struct SlurmRunnerOptions {
  SlurmControlOptions control;
  core::Seconds origin{0};  // Now() begins there
};

class SlurmRunner final : public ClusterRunner {
 public:
  // Reads the nodes. `client` must outlive it.
  static core::Result<std::unique_ptr<SlurmRunner>> Open(SlurmClient& client,
                                                         SlurmRunnerOptions options);
  ~SlurmRunner() override;  // jobs run on
  SlurmRunner(const SlurmRunner&) = delete;
  SlurmRunner& operator=(const SlurmRunner&) = delete;

  void Change(RunId id, const RunBounds& bounds) override;  // cores cannot be, and it says so
  void ShowReason(std::int64_t job, const std::string& words) override;
  std::vector<RunRequest> Recover() override;

 private:
  SlurmRunner(SlurmClient& client, SlurmRunnerOptions options);
  void Work() override;
  std::map<std::int64_t, std::string> TakeReasons();

  const SlurmRunnerOptions options_;
  SlurmControl control_;  // after Recover the thread's
  // Why jobs wait, for the next look: many change at once, and none is urgent.
  platform::Mutex reasons_mutex_;
  std::map<std::int64_t, std::string> reasons_ SHAREWELL_GUARDED_BY(reasons_mutex_);
};

}  // namespace sharewell::engine
