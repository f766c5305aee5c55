// ClusterRunner: what the runners of Slurm and of Kubernetes have in common. A thread of its own
// works the control of the cluster's manager; commands go there in their order, events and problems
// come back, and nobody waits for the manager. A runner of this kind says how its thread works.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/cluster_control.h"
#include "engine/runner.h"
#include "platform/mutex.h"

namespace sharewell::engine {

class ClusterRunner : public Runner {
 public:
  ClusterRunner(const ClusterRunner&) = delete;
  ClusterRunner& operator=(const ClusterRunner&) = delete;

  // As they were when it was opened.
  const std::vector<RunnerNode>& nodes() const { return nodes_; }
  const std::vector<std::string>& models() const { return models_; }
  const std::vector<std::string>& remarks() const { return remarks_; }

  core::Seconds Now() override;
  void Start(const RunRequest& request) override;
  void Stop(RunId id, core::Seconds grace) override;  // the grace is the manager's own
  void Cancel(RunId id, core::Seconds grace) override;
  void SetShare(RunId, core::Ratio) override {}
  std::optional<core::Seconds> ListEvery() const override { return core::Seconds(60); }
  void List(std::uint64_t token) override;
  bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) override;
  void Wake() override;
  void Forget(RunId id) override;
  bool HasUsers() const override { return true; }
  void Expect(std::int64_t job) override;
  void CancelWaiting(std::int64_t job) override;
  std::string Problem() override;

 protected:
  using Command = std::function<void(ClusterControl&)>;
  explicit ClusterRunner(core::Seconds origin);  // Now() begins there
  void SetOpened(std::vector<RunnerNode> nodes, std::vector<std::string> models,
                 std::vector<std::string> remarks);
  void Do(Command command);
  void Note(RunId id, std::string message);  // RunNote

  void BeginWork();
  // The first thing that a destructor of such a runner does: Work has returned then.
  void EndWork();

  // For Work.
  bool CarryOut(ClusterControl& control);  // false: there was nothing to do
  void TellAll(std::vector<RunEvent> events, std::string problem);
  bool Ends();
  bool HasCommands();
  // Until then, or until commands have come, and those that come within `gather` of them. False: it
  // ends.
  bool WaitForCommands(core::Seconds due, core::Seconds gather);
  bool Rest(core::Seconds time);  // false: it ends

 private:
  virtual void Work() = 0;  // on the thread; returns soon after Ends()
  // Where Work waits for something else than WaitForCommands: it is to look at its commands now, or
  // at whether it ends.
  virtual void WakeWork() {}

  const core::Seconds origin_;
  const std::int64_t began_;  // ns, of the clock that never goes back
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
