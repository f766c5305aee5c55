// KubePlacer: begins starts: which pod gets which GPUs, and whether these can be claimed for it
// now.
#pragma once

#include <string>
#include <vector>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_claimer.h"
#include "engine/kubernetes/control/kube_ends.h"
#include "engine/kubernetes/control/kube_outbox.h"
#include "engine/kubernetes/control/kube_pods.h"
#include "engine/kubernetes/control/kube_terms.h"
#include "engine/kubernetes/control/kube_volumes.h"

namespace sharewell::engine {

class KubePlacer {
 public:
  // The parts that it asks.
  struct Parts {
    KubeOutbox& outbox;
    const KubePods& pods;
    const KubeVolumes& volumes;
    const KubeTerms& terms;
    KubeEnds& ends;
    KubeClaimer& claimer;
  };
  KubePlacer(KubeBook& book, const Parts& parts)
      : book_(book),
        outbox_(parts.outbox),
        pods_(parts.pods),
        volumes_(parts.volumes),
        terms_(parts.terms),
        ends_(parts.ends),
        claimer_(parts.claimer) {}

  // All runs that are to be started, as far as one look can.
  void Place();

 private:
  bool PlaceOne(KubeRun& run, KubeMembersByNode& placed);
  std::string SplitGpus(const KubeRun& run, const KubePodGroup& pod_group,
                        std::vector<KubeMember>& members) const;
  KubeClaim ClaimOf(const RunRequest& request, std::vector<std::string> gpus,
                    std::size_t pods) const;
  KubeAmounts UsedOn(const std::string& node, const KubeMembersByNode& members) const;
  std::string WhyNotHere(const KubeMember& member, const KubeMembersByNode& placed);

  KubeBook& book_;
  KubeOutbox& outbox_;
  const KubePods& pods_;
  const KubeVolumes& volumes_;
  const KubeTerms& terms_;
  KubeEnds& ends_;
  KubeClaimer& claimer_;
};

}  // namespace sharewell::engine
