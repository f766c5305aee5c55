// KubeBinder: binds the pods of a run to their nodes once all claims of it are shown, each in one
// write with its annotations, until the API server shows them bound. So does it with a pod that has
// the place of one that failed in a group that goes on.
#pragma once

#include <cstdint>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_claimer.h"
#include "engine/kubernetes/control/kube_ends.h"
#include "engine/kubernetes/control/kube_notices.h"
#include "engine/kubernetes/control/kube_outbox.h"

namespace sharewell::engine {

class KubeBinder {
 public:
  KubeBinder(KubeBook& book, KubeOutbox& outbox, KubeEnds& ends, KubeClaimer& claimer,
             KubeNotices& notices)
      : book_(book), outbox_(outbox), ends_(ends), claimer_(claimer), notices_(notices) {}

  void Send();
  // Of a run whose binding was sent.
  void Advance(std::int64_t job);
  // Of one that is bound, the pods that join it.
  void AdvanceJoins(KubeRun& run);

 private:
  bool Bind(std::int64_t job, KubeRun& run, KubeMember& member);
  void TellPlaced(const KubeMember& member);
  void TakeBindAnswer(const KubeRequest& request, std::int64_t job,
                      const core::Result<KubeAnswer>& answer);

  KubeBook& book_;
  KubeOutbox& outbox_;
  KubeEnds& ends_;
  KubeClaimer& claimer_;
  KubeNotices& notices_;
};

}  // namespace sharewell::engine
