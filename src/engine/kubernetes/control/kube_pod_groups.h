// KubePodGroups: which pods are one job, and the number of each. A pod that its owner makes after
// an eviction is the same job again. One that it makes for a member of a group that failed, while
// the others run, has that one's place, unless sharewell.io/restart says something else.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_group_sizes.h"
#include "engine/kubernetes/control/kube_outbox.h"
#include "engine/kubernetes/control/kube_pods.h"

namespace sharewell::engine {

class KubePodGroups {
 public:
  KubePodGroups(KubeBook& book, KubePods& pods) : book_(book), pods_(pods), sizes_(book, pods) {}

  // New pods become jobs, or part of one.
  void JoinAll();
  // New pods wait for numbers, as no more were given out.
  bool lacks_numbers() const { return no_numbers_; }
  void Begin() { no_numbers_ = false; }  // a look

  // What their PodGroups say, of pods that wait for it to become jobs.
  void AskSizes(KubeOutbox& outbox) { sizes_.Ask(outbox); }

  // Members that were deleted while it waited.
  void ForgetGone(KubePodGroup& pod_group);
  // Its pods are gone, and whoever made them makes the next ones.
  void AwaitOwner(KubePodGroup& pod_group);
  // It was whole, and the next pod of its name is to complete it again.
  void AwaitRest(const KubePodGroup& pod_group) {
    group_.try_emplace(pod_group.group, pod_group.number);
  }
  void Drop(std::int64_t number);
  // Jobs that wait for their owner's next pods, by its uid.
  const std::map<std::string, std::set<std::int64_t>>& awaited() const { return awaited_; }

 private:
  KubePodGroup& New(const KubePod& pod, const std::string& group);
  std::set<std::string> Leaving() const;
  bool HasToWait(const KubePod& pod, const std::set<std::string>& leaving) const;
  void Join(const KubePod& pod);
  KubeMember* PlaceFor(const KubePod& pod, const PodWords& words, const std::string& group);
  void Replace(KubeMember& member, const KubePod& pod);

  KubeBook& book_;
  KubePods& pods_;
  KubeGroupSizes sizes_;
  std::map<std::string, std::int64_t> group_;  // that is not complete, by "NAMESPACE/NAME"
  std::map<std::string, std::set<std::int64_t>> awaited_;
  bool no_numbers_ = false;
};

}  // namespace sharewell::engine
