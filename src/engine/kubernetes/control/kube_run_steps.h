// KubeRunSteps: takes each run from its start to its end, by what the watch shows; evicts the pods
// of those that are to stop, and deletes those of cancelled jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/kubernetes/control/kube_binder.h"
#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_ends.h"
#include "engine/kubernetes/control/kube_nodes.h"
#include "engine/kubernetes/control/kube_notices.h"
#include "engine/kubernetes/control/kube_outbox.h"

namespace sharewell::engine {

class KubeRunSteps {
 public:
  // The parts that it asks.
  struct Parts {
    KubeOutbox& outbox;
    const KubeNodes& nodes;
    KubeEnds& ends;
    KubeBinder& binder;
    KubeNotices& notices;
  };
  KubeRunSteps(KubeBook& book, const Parts& parts)
      : book_(book),
        outbox_(parts.outbox),
        nodes_(parts.nodes),
        ends_(parts.ends),
        binder_(parts.binder),
        notices_(parts.notices) {}

  void Advance();
  void SendStops();
  // Of jobs that are over and still have a pod that waits.
  void SendCancels();
  // What agents on the nodes (`sharewell monitor`) tell of runs.
  void EmitSteps();

 private:
  void EmitStarted(KubeRun& run);
  void AdvanceBefore(std::int64_t job);
  void AdvanceBound(std::int64_t job);
  void RestartAll(KubeRun& run);
  void WithdrawDeleted(const KubeRun& run);
  void TellCrashing(KubeRun& run, const KubePod& pod);
  bool AllOver(const KubeRun& run) const;
  RunEnd EndOf(const KubeRun& run) const;
  void TakeStopAnswer(const KubeRequest& request, std::int64_t job, std::size_t index,
                      const core::Result<KubeAnswer>& answer);
  void KeepRun(KubeRun& run, const std::string& why);
  bool MayCancel(KubePodGroup& pod_group) const;

  KubeBook& book_;
  KubeOutbox& outbox_;
  const KubeNodes& nodes_;
  KubeEnds& ends_;
  KubeBinder& binder_;
  KubeNotices& notices_;
  bool newest_eviction_ = true;  // the API server knows policy/v1
  std::optional<core::Seconds> steps_asked_;
};

}  // namespace sharewell::engine
