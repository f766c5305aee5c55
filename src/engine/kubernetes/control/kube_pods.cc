#include "engine/kubernetes/control/kube_pods.h"

#include <algorithm>
#include <utility>

namespace sharewell::engine {

bool KubePods::IsOurs(const KubePod& pod) const {
  return pod.scheduler == book_.options().scheduler &&
         (book_.options().name_space.empty() || pod.name_space == book_.options().name_space);
}

void KubePods::Put(KubePod pod) {
  if (pod.job) book_.next_number() = std::max(book_.next_number(), *pod.job + 1);
  const bool ours = IsOurs(pod);
  const auto old = book_.pods().find(pod.uid);
  if (old != book_.pods().end() && !old->second.node.empty()) {
    on_node_[old->second.node].erase(pod.uid);
    book_.touched().insert(old->second.node);
  }
  if (old != book_.pods().end() && old->second.marks == pod.marks) {
    pod.group_size = old->second.group_size;
    pod.no_group_size = old->second.no_group_size;
  }
  if (!ours && pod.node.empty()) return;  // another scheduler's, and it waits
  if (!pod.node.empty() && !pod.IsOver()) on_node_[pod.node].insert(pod.uid);
  if (!pod.node.empty()) book_.touched().insert(pod.node);
  if (const auto pod_group = book_.group_of().find(pod.uid); pod_group != book_.group_of().end()) {
    book_.dirty().insert(pod_group->second);
    if (pod.job != pod_group->second) book_.to_write().insert(pod_group->second);
  } else if (ours && pod.node.empty() && !pod.IsOver() && !pod.deleting) {
    joins_.insert(pod.uid);
  }
  std::string uid = pod.uid;
  book_.pods().insert_or_assign(std::move(uid), std::move(pod));
}

void KubePods::Drop(const std::string& uid) {
  joins_.erase(uid);
  const auto found = book_.pods().find(uid);
  if (found == book_.pods().end()) return;
  const KubePod pod = std::move(found->second);
  book_.pods().erase(found);
  if (!pod.node.empty()) {
    on_node_[pod.node].erase(uid);
    book_.touched().insert(pod.node);
  }
  const auto pod_group = book_.group_of().find(uid);
  if (pod_group == book_.group_of().end()) return;
  book_.dirty().insert(pod_group->second);
  const auto run = book_.runs().find(pod_group->second);
  if (run == book_.runs().end()) return;
  for (KubeMember& member : run->second.members) {
    if (member.uid == uid) member.last = pod;
  }
}

}  // namespace sharewell::engine
