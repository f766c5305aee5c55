// KubeGroupSizes: asks the API server how many pods a group has, where the pods name a PodGroup of
// coscheduling or of Volcano and do not say it themselves. What it answers stands in the pods
// (KubePod::group_size, no_group_size); until then they are no job yet.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_outbox.h"
#include "engine/kubernetes/control/kube_pods.h"

namespace sharewell::engine {

// spec.minMember of a PodGroup. An error says in words what it has instead.
core::Result<int> ParsePodGroupSize(std::string_view text);

class KubeGroupSizes {
 public:
  KubeGroupSizes(KubeBook& book, KubePods& pods) : book_(book), pods_(pods) {}

  // Of new pods. Each PodGroup once, until there is an answer.
  void Ask(KubeOutbox& outbox);

 private:
  void TakeAnswer(const KubeRequest& request, const core::Result<KubeAnswer>& answer);

  KubeBook& book_;
  KubePods& pods_;
  std::map<std::string, core::Seconds> asked_;  // by path
};

}  // namespace sharewell::engine
