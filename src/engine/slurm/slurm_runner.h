// SlurmRunner: jobs of a Slurm cluster's users, which Slurm starts, keeps and accounts for, and
// which are placed here. A thread of its own asks and tells Slurm (slurm_control.h); nothing waits
// for it but Recover.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/runner.h"
#include "engine/slurm/slurm_control.h"
#include "platform/mutex.h"

namespace sharewell::engine {

struct SlurmRunnerOptions {
  SlurmControlOptions control;
  core::Seconds origin{0};  // Now() begins there
};

class SlurmRunner final : public Runner {
 public:
  // Reads the nodes. `client` must outlive it.
  static core::Result<std::unique_ptr<SlurmRunner>> Open(SlurmClient& client,
                                                         SlurmRunnerOptions options);
  ~SlurmRunner() override;  // jobs run on
  SlurmRunner(const SlurmRunner&) = delete;
  SlurmRunner& operator=(const SlurmRunner&) = delete;

  // As they were when it was opened.
  const std::vector<RunnerNode>& nodes() const { return nodes_; }
  const std::vector<std::string>& models() const { return models_; }
  const std::vector<std::string>& remarks() const { return remarks_; }

  core::Seconds Now() override;
  void Start(const RunRequest& request) override;
  void Stop(RunId id, core::Seconds grace) override;  // the grace is Slurm's own (KillWait)
  void Cancel(RunId id, core::Seconds grace) override;
  void SetCores(RunId id, double cores) override;  // cannot be, and says so
  void SetShare(RunId id, core::Ratio share) override;
  void SetTimeLimit(RunId id, core::Seconds limit) override;
  std::string WhyNoPause() override;
  std::vector<RunRequest> Recover() override;
  std::optional<core::Seconds> ListEvery() const override { return core::Seconds(60); }
  void List(std::uint64_t token) override;
  bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) override;
  void Wake() override;
  void Forget(RunId id) override;
  bool HasUsers() const override { return true; }
  void Expect(std::int64_t job) override;
  void CancelWaiting(std::int64_t job) override;
  std::string Problem() override;

 private:
  using Command = std::function<void(SlurmControl&)>;
  SlurmRunner(SlurmClient& client, SlurmRunnerOptions options);
  void Do(Command command);
  bool CarryOut();  // false: there was nothing to do
  bool WaitUntil(core::Seconds due);
  void Work();

  const SlurmRunnerOptions options_;
  const std::int64_t began_;  // ns, of the clock that never goes back
  SlurmControl control_;      // after Recover the thread's
  std::vector<RunnerNode> nodes_;
  std::vector<std::string> models_, remarks_;
  platform::Mutex mutex_;
  std::condition_variable_any changed_;  // something to do, or to tell
  std::vector<Command> commands_ SHAREWELL_GUARDED_BY(mutex_);
  std::vector<RunEvent> events_ SHAREWELL_GUARDED_BY(mutex_);
  std::string problem_ SHAREWELL_GUARDED_BY(mutex_);
  bool woken_ SHAREWELL_GUARDED_BY(mutex_) = false;
  bool ends_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sharewell::engine
