// KubeRunner: pods of a Kubernetes cluster's users, which kubelets start and keep, and which are
// placed here. A thread of its own watches and tells the API server (kube_control.h); nothing waits
// for it but Open and Recover.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/kubernetes/kube_control.h"
#include "engine/kubernetes/kube_driver.h"
#include "engine/kubernetes/reflector.h"
#include "engine/runner.h"
#include "platform/mutex.h"

namespace sharewell::engine {

struct KubeRunnerOptions {
  KubeControlOptions control;      // `ask` is the runner's own
  core::Seconds origin{0};         // Now() begins there
  core::Seconds open_within{15};   // the first list of all pods and nodes
  core::Seconds write_within{10};  // one request
  // Whether this server leads, by a clock that never goes back; asked on the runner's thread before
  // each look, and may wait for a moment. Empty: it does.
  std::function<bool(core::Seconds now)> leads = {};
};

class KubeRunner final : public Runner {
 public:
  // Reads nodes and pods. `driver` must outlive it, and is its alone from now on.
  static core::Result<std::unique_ptr<KubeRunner>> Open(KubeDriver& driver,
                                                        KubeRunnerOptions options);
  ~KubeRunner() override;  // pods run on
  KubeRunner(const KubeRunner&) = delete;
  KubeRunner& operator=(const KubeRunner&) = delete;

  // As they were when it was opened.
  const std::vector<RunnerNode>& nodes() const { return nodes_; }
  const std::vector<std::string>& models() const { return models_; }
  const std::vector<std::string>& remarks() const { return remarks_; }

  core::Seconds Now() override;
  void Start(const RunRequest& request) override;
  void Stop(RunId id, core::Seconds grace) override;  // the grace is the pod's own
  void Cancel(RunId id, core::Seconds grace) override;
  void SetCores(RunId id, double cores) override;  // cannot be, and says so
  void SetShare(RunId id, core::Ratio share) override;
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
  void TellWaits(std::int64_t job, const std::string& words) override;
  std::string Problem() override;

 private:
  using Command = std::function<void(KubeControl&)>;
  KubeRunner(KubeDriver& driver, KubeRunnerOptions options);
  void Do(Command command);
  bool CarryOut();  // false: there was nothing to do
  // What changed goes to the control. An error: pods or nodes cannot be read now.
  core::Result<void> Look();
  void Work();

  KubeDriver& driver_;
  const KubeRunnerOptions options_;
  const std::int64_t began_;  // ns, of the clock that never goes back
  Reflector pods_, all_nodes_, volume_claims_, volumes_;
  KubeControl control_;  // after Recover the thread's
  std::vector<RunnerNode> nodes_;
  std::vector<std::string> models_, remarks_;
  platform::Mutex mutex_;
  std::condition_variable_any changed_;  // there is something to tell
  std::vector<Command> commands_ SHAREWELL_GUARDED_BY(mutex_);
  std::vector<RunEvent> events_ SHAREWELL_GUARDED_BY(mutex_);
  std::string problem_ SHAREWELL_GUARDED_BY(mutex_);
  bool woken_ SHAREWELL_GUARDED_BY(mutex_) = false;
  bool ends_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sharewell::engine
