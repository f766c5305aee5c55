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
#include <utility>
#include <vector>

#include "engine/cluster_control.h"
#include "engine/foreign_queue.h"
#include "engine/runner.h"
#include "platform/mutex.h"

namespace sharewell::engine {

// A cluster as it was when its runner was opened.
struct OpenedCluster {
  std::vector<RunnerNode> nodes = {};
  std::vector<std::string> models = {};   // of all nodes, those that are down among them
  std::vector<std::string> remarks = {};  // what is not used, and why
};

class ClusterRunner : public Runner, public ForeignQueue {
 public:
  static constexpr core::Seconds kListEvery{60};  // an answer that was lost is found so late

  const OpenedCluster& opened() const { return opened_; }

  core::Seconds Now() override;
  void Start(const RunRequest& request) override;
  void Stop(RunId id, const StopOrder& order) override;  // the grace is the manager's own
  void Forget(RunId id) override;
  bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) override;
  void Wake() override;

  void Expect(std::int64_t job) override;
  void CancelWaiting(std::int64_t job) override;
  std::string Problem() override;

 protected:
  using Command = std::function<void(ClusterControl&)>;
  // Now() begins at `origin`.
  explicit ClusterRunner(core::Seconds origin, core::Seconds list_every = kListEvery);
  void SetOpened(OpenedCluster opened) { opened_ = std::move(opened); }
  void Do(Command command);
  void Note(RunId id, std::string message);  // RunNote

  void BeginWork();
  // The first thing that a destructor of such a runner does: Work has returned then.
  void EndWork();

  // For Work.
  bool CarryOut(ClusterControl& control);  // false: there was nothing to do
  void EmitAll(std::vector<RunEvent> events, std::string problem);
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

  const core::Seconds origin_, list_every_;
  const std::int64_t began_;  // ns, of the clock that never goes back
  OpenedCluster opened_;
  core::Seconds list_at_;  // of the thread that waits
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
