// KubeClaimer: writes the claims of GPUs into the nodes' annotations (kube_claims.h), and takes out
// those that nobody needs any more. Another server may write there too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_ends.h"
#include "engine/kubernetes/control/kube_outbox.h"

namespace sharewell::engine {

using KubeMembersByNode = std::map<std::string, std::vector<const KubeMember*>>;

class KubeClaimer {
 public:
  KubeClaimer(KubeBook& book, KubeOutbox& outbox, KubeEnds& ends)
      : book_(book), outbox_(outbox), ends_(ends) {}

  // Pods that are claimed for, and not heard to have ended.
  KubeMembersByNode Placed() const;
  // What should stand at the node.
  KubeClaims WantedClaims(KubeNodeHere& here, const KubeMembersByNode& placed);
  void Send();
  // The API server shows its claim, or all claims of the run.
  bool IsShown(const KubeMember& member) const;
  bool AreShown(const KubeRun& run) const;

 private:
  bool IsDead(KubeNodeHere& here, const std::string& uid);
  bool IsOthers(KubeNodeHere& here, const KubeMember& member);
  void GiveUpLostClaims();
  void TakeClaimAnswer(const KubeRequest& request, const std::string& node,
                       const core::Result<KubeAnswer>& answer);

  KubeBook& book_;
  KubeOutbox& outbox_;
  KubeEnds& ends_;
};

}  // namespace sharewell::engine
