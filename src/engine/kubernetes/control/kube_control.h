// KubeControl: what a Kubernetes cluster does and what it is told, one look at a time. KubeRunner
// calls it on a thread of its own; tests call it on a clock of theirs. One thread. It is given what
// changed (reflector.h), and writes through one function that may wait.
//
// It puts the parts together and has the order of a look; nothing points back to it:
//
//   KubeBook       what is known from one look to the next, as data
//   KubeOutbox     what a look writes to the API server
//   KubePods       keeps the pods
//   KubePodGroups  says which pods are one job
//   KubeVolumes    knows where volumes tie pods to
//   KubeTerms      says what keeps a job waiting, and where it may start
//   KubeNodes      reads the nodes and says which are up
//   KubeTaken      tells of what somebody else has
//   KubeEnds       says how runs end, and what becomes of their pods
//   KubeWaiting    tells of the jobs that wait for us
//   KubeClaimer    writes claims of GPUs
//   KubePlacer     begins starts
//   KubeBinder     binds pods
//   KubeRunSteps   takes runs from the start to the end
//   KubeNotices    writes conditions and Events for people
//
// A pod is started in steps, each of which may fail, hang, or happen without its answer: its GPUs
// are claimed in the node's annotation (kube_claims.h), and only when the API server shows the
// claim is the pod bound, in one write with its annotations. What was done is never taken from an
// answer but read from the watch; every step can be done again. That makes it safe to end at any
// point and begin anew: all that must survive stands in claims, bindings and status.
//
// Numbers of jobs are short, and stand in a condition of the pod's status, which its user cannot
// write. Until the first look at the queue has been written there, a server that is killed gives
// the pod another number.
//
// Pods of one group are one job: all start or none. A pod that was evicted by us, or lost its node,
// is the same job again when its owner makes the next one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster_control.h"
#include "engine/kubernetes/api/reflector.h"
#include "engine/kubernetes/control/kube_binder.h"
#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_claimer.h"
#include "engine/kubernetes/control/kube_control_options.h"
#include "engine/kubernetes/control/kube_ends.h"
#include "engine/kubernetes/control/kube_nodes.h"
#include "engine/kubernetes/control/kube_notices.h"
#include "engine/kubernetes/control/kube_outbox.h"
#include "engine/kubernetes/control/kube_placer.h"
#include "engine/kubernetes/control/kube_pod_groups.h"
#include "engine/kubernetes/control/kube_pods.h"
#include "engine/kubernetes/control/kube_run_steps.h"
#include "engine/kubernetes/control/kube_taken.h"
#include "engine/kubernetes/control/kube_terms.h"
#include "engine/kubernetes/control/kube_volumes.h"
#include "engine/kubernetes/control/kube_waiting.h"

namespace sharewell::engine {

class KubeControl final : public ClusterControl {
 public:
  explicit KubeControl(KubeControlOptions options);

  // What changed, in order. A record that cannot be read is a remark.
  void HandlePods(std::span<const KubeChange> changes);
  void HandleNodes(std::span<const KubeChange> changes);
  KubeVolumes& volumes() { return volumes_; }
  // Whether all that there is was told; until then nothing is started, and nothing is taken to be
  // gone.
  void SetCurrent(bool current) { current_ = current; }
  // May it write? False: another server leads. Nothing is written then.
  void SetLeads(bool leads) { leads_ = leads; }

  // Those that are up. The first call: later on, events tell what changes.
  std::vector<RunnerNode> Open(core::Seconds now);
  // As ClusterBook has them.
  std::vector<RunnerNode> Nodes() const { return book_.Nodes(); }
  std::vector<std::string> Models() const { return book_.Models(); }
  const std::vector<std::string>& remarks() const { return book_.remarks(); }
  const std::string& problem() const { return problem_; }
  void SetProblem(std::string words) { outside_problem_ = std::move(words); }

  std::vector<RunRequest> Recover();

  // Carried out by the next look, in order.
  void Start(const RunRequest& request) override { book_.Start(request); }
  void Stop(RunId id) override { book_.Stop(id); }
  void Cancel(RunId id) override { book_.Cancel(id); }
  void CancelWaiting(std::int64_t job) override { book_.CancelWaiting(job); }
  void Expect(std::int64_t job) override { book_.Expect(job); }
  void List(core::Seconds as_of) override { book_.List(as_of); }
  void Forget(RunId id) override { book_.Forget(id); }
  // What the service says of jobs.
  KubeNotices& notices() { return notices_; }

  // All that follows from what was told since. When the next one is due although nothing came.
  core::Seconds Cycle(core::Seconds now, std::vector<RunEvent>& out);

  const KubeWritten& written() { return outbox_.written(); }

 private:
  void Look();
  core::Seconds NextDue();

  KubeBook book_;
  KubeOutbox outbox_;
  KubePods pods_;
  KubePodGroups groups_;
  KubeVolumes volumes_;
  KubeTerms terms_;
  KubeNodes nodes_;
  KubeEnds ends_;
  KubeWaiting waiting_;
  KubeClaimer claimer_;
  KubePlacer placer_;
  KubeNotices notices_;
  KubeTaken taken_;
  KubeBinder binder_;
  KubeRunSteps steps_;
  bool current_ = false, leads_ = true;
  std::string problem_, outside_problem_;
  std::vector<RunEvent> opening_;  // by Open, which needs none
};

}  // namespace sharewell::engine
