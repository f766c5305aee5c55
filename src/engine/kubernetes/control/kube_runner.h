// KubeRunner: pods of a Kubernetes cluster's users, which kubelets start and keep, and which are
// placed here. A thread of its own watches and tells the API server (kube_control.h); nothing waits
// for it but Open and Recover.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/cluster_runner.h"
#include "engine/kubernetes/api/kube_driver.h"
#include "engine/kubernetes/api/kube_logs.h"
#include "engine/kubernetes/api/reflector.h"
#include "engine/kubernetes/control/kube_control.h"

namespace sharewell::engine {

struct KubeRunnerOptions {
  KubeControlOptions control;      // `ask` is the runner's own
  core::Seconds origin{0};         // Now() begins there
  core::Seconds open_within{15};   // the first list of all pods and nodes
  core::Seconds write_within{10};  // one request
  core::Seconds list_every = ClusterRunner::kListEvery;
  // Whether this server leads, by a clock that never goes back; asked on the runner's thread before
  // each look, and may wait for a moment. Empty: it does.
  std::function<bool(core::Seconds now)> leads = {};
};

class KubeRunner final : public ClusterRunner {
 public:
  // Reads nodes and pods. `driver` must outlive it, and is its alone from now on.
  static core::Result<std::unique_ptr<KubeRunner>> Open(KubeDriver& driver,
                                                        KubeRunnerOptions options);
  ~KubeRunner() override;  // pods run on
  KubeRunner(const KubeRunner&) = delete;
  KubeRunner& operator=(const KubeRunner&) = delete;

  void Change(RunId id, const RunBounds& bounds) override;  // cores cannot be, and it says so
  std::vector<RunRequest> Recover() override;
  // Whose log is that job's, as KubeNotices has it. Any thread but the runner's own, for which it
  // waits a moment.
  core::Result<std::vector<KubeLogPod>> LogPods(std::int64_t job, const std::string& name_space);
  void ShowReason(std::int64_t job, const std::string& words) override;
  void ShowStarts(const std::map<std::int64_t, core::UnixMillis>& starts) override;
  void ShowLeaving(std::int64_t job, int evicted, const std::string& words) override;

 private:
  KubeRunner(KubeDriver& driver, KubeRunnerOptions options);
  // What changed goes to the control. An error: pods or nodes cannot be read now.
  core::Result<void> Look();
  void Work() override;
  void WakeWork() override { driver_.Wake(); }

  KubeDriver& driver_;
  const KubeRunnerOptions options_;
  Reflector pods_, all_nodes_, volume_claims_, volumes_;
  KubeControl control_;  // after Recover the thread's
};

}  // namespace sharewell::engine
