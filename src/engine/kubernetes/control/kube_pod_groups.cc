#include "engine/kubernetes/control/kube_pod_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sharewell::engine {

KubePodGroup& KubePodGroups::New(const KubePod& pod, const std::string& group) {
  const auto is_free = [&](std::int64_t number) {
    return !book_.groups().contains(number) && !book_.runs().contains(number);
  };
  std::int64_t number = pod.job.value_or(0);
  // A run without pods may have been started before its pod was read.
  const auto run = book_.runs().find(number);
  const bool awaited = run != book_.runs().end() && run->second.members.empty();
  if (number <= 0 || book_.groups().contains(number) || (run != book_.runs().end() && !awaited)) {
    while (!is_free(book_.next_number())) ++book_.next_number();
    number = book_.next_number()++;
  }
  KubePodGroup& pod_group = book_.groups()[number];
  pod_group.number = number;
  pod_group.group = group;
  pod_group.name = group.empty() ? pod.Name() : group;
  pod_group.owner = pod.owner;
  return pod_group;
}

// Owners and groups whose pods are about to be gone: because we evicted them, or because a pod of a
// group is on its way out that may have the place of the next one.
std::set<std::string> KubePodGroups::Leaving() const {
  std::set<std::string> leaving;
  for (const auto& [job, run] : book_.runs()) {
    const auto found = book_.groups().find(job);
    if (found == book_.groups().end() || found->second.owner.uid.empty()) continue;
    const KubePodGroup& pod_group = found->second;
    const bool evicted = run.wanted == WantedRun::kStop;
    const bool all_again = !pod_group.group.empty() && run.step >= KubeRun::Step::kBound &&
                           pod_group.words.restart == GroupRestart::kAll &&
                           run.wanted != WantedRun::kCancel && HasFailedMember(book_, run);
    const auto goes = [&](const KubeMember& member) {
      const KubePod* pod = book_.PodOf(member);
      if (evicted) return pod == nullptr || pod->deleting;
      const auto here = book_.nodes().find(member.node);
      return pod != nullptr && pod->deleting && !pod->node.empty() && !pod->IsOver() &&
             here != book_.nodes().end() && here->second.told_up;
    };
    const bool some = std::any_of(run.members.begin(), run.members.end(), goes);
    if (all_again || (evicted && some)) leaving.insert(pod_group.owner.uid);
    if (!pod_group.group.empty() && (all_again || some)) leaving.insert(pod_group.group);
  }
  return leaving;
}

// For the pods before it to be gone, or for the size of its group.
bool KubePodGroups::HasToWait(const KubePod& pod, const std::set<std::string>& leaving) const {
  if (leaving.contains(pod.owner.uid)) return true;
  if (leaving.empty() && pod.marks.empty()) return false;
  const PodWords words = ParsePodWords(pod);
  if (words.unsized != PodGroupKind::kNone && words.refusal.empty()) return true;
  return !words.group.empty() && leaving.contains(GroupOf(pod, words));
}

// In the order in which they were made, so that numbers are. An owner may make its next pod before
// the one that was evicted is gone: it joins when that one's run has ended, as the same job.
void KubePodGroups::JoinAll() {
  if (pods_.joins().empty()) return;
  const std::set<std::string> leaving = Leaving();
  std::vector<const KubePod*> all;
  for (const std::string& uid : std::exchange(pods_.joins(), {})) {
    const auto found = book_.pods().find(uid);
    if (found == book_.pods().end() || book_.group_of().contains(uid)) continue;
    const KubePod& pod = found->second;
    if (HasToWait(pod, leaving)) {
      pods_.joins().insert(uid);
    } else {
      all.push_back(&pod);
    }
  }
  const auto last =
      book_.next_number() + static_cast<std::int64_t>(all.size() + book_.runs().size());
  if (!all.empty() && book_.options().may_number && !book_.options().may_number(last)) {
    for (const KubePod* pod : all) pods_.joins().insert(pod->uid);
    no_numbers_ = true;
    return;
  }
  std::sort(all.begin(), all.end(), [](const KubePod* a, const KubePod* b) {
    return std::tie(a->created, a->name_space, a->name) <
           std::tie(b->created, b->name_space, b->name);
  });
  for (const KubePod* pod : all) Join(*pod);
}

// Members that were deleted while it waited.
void KubePodGroups::ForgetGone(KubePodGroup& pod_group) {
  std::erase_if(pod_group.members, [&](const std::string& uid) {
    if (book_.pods().contains(uid)) return false;
    book_.group_of().erase(uid);
    return true;
  });
}

// Of a group that runs, the place of a member that failed or was deleted. Null: there is none.
KubeMember* KubePodGroups::PlaceFor(const KubePod& pod, const PodWords& words,
                                    const std::string& group) {
  if (group.empty() || pod.owner.uid.empty() || !words.refusal.empty() || !pod.gates.empty() ||
      words.restart == GroupRestart::kFail) {
    return nullptr;
  }
  for (auto& [job, run] : book_.runs()) {
    const auto found = book_.groups().find(job);
    if (run.step < KubeRun::Step::kBound || run.wanted != WantedRun::kNothing ||
        found == book_.groups().end() || found->second.withdrawn || found->second.group != group ||
        found->second.owner.uid != pod.owner.uid) {
      continue;
    }
    for (KubeMember& member : run.members) {
      const KubePod* before = book_.PodOf(member);
      if (before == nullptr && member.last) before = &*member.last;
      const bool ended = book_.PodOf(member) == nullptr || before->IsOver();
      const auto here = book_.nodes().find(member.node);
      if (!ended || (before != nullptr && before->phase == KubePhase::kSucceeded) ||
          member.claim.gpus.size() != static_cast<std::size_t>(words.gpus) ||
          here == book_.nodes().end() || !here->second.told_up || here->second.kube.cordoned) {
        continue;
      }
      return &member;
    }
  }
  return nullptr;
}

void KubePodGroups::Replace(KubeMember& member, const KubePod& pod) {
  KubePodGroup& pod_group = book_.groups().at(member.claim.job);
  std::erase(pod_group.members, member.uid);
  book_.group_of().erase(member.uid);
  pod_group.members.push_back(pod.uid);
  book_.group_of()[pod.uid] = pod_group.number;
  if (const auto here = book_.nodes().find(member.node); here != book_.nodes().end()) {
    here->second.freed[member.uid] = member.claim;
  }
  KubeMember next;
  next.uid = pod.uid;
  next.node = member.node;
  next.claim = member.claim;
  next.joins = book_.now();
  member = std::move(next);
}

void KubePodGroups::Join(const KubePod& pod) {
  const PodWords words = ParsePodWords(pod);
  KubePodGroup* pod_group = nullptr;
  const std::string group = GroupOf(pod, words);
  if (KubeMember* place = PlaceFor(pod, words, group)) return Replace(*place, pod);
  if (!group.empty()) {
    if (const auto found = group_.find(group); found != group_.end()) {
      pod_group = &book_.groups().at(found->second);
    }
  } else if (const auto found = awaited_.find(pod.owner.uid);
             !pod.owner.uid.empty() && found != awaited_.end()) {
    for (const std::int64_t number : found->second) {
      KubePodGroup& one = book_.groups().at(number);
      if (one.group.empty() && (pod_group == nullptr || pod.job == number)) pod_group = &one;
    }
  }
  if (pod_group == nullptr) pod_group = &New(pod, group);
  if (!group.empty()) group_[group] = pod_group->number;
  ForgetGone(*pod_group);
  if (pod_group->members.empty()) pod_group->words = words;
  pod_group->members.push_back(pod.uid);
  std::sort(pod_group->members.begin(), pod_group->members.end(),
            [&](const auto& a, const auto& b) {
              return book_.pods().at(a).name < book_.pods().at(b).name;
            });
  book_.group_of()[pod.uid] = pod_group->number;
  const std::size_t size = pod_group->Size();
  if (pod_group->members.size() >= size) {
    group_.erase(group);  // who comes now is of the next one
    if (std::exchange(pod_group->evicted, std::nullopt)) {
      const auto awaited = awaited_.find(pod_group->owner.uid);
      if (awaited != awaited_.end()) {
        awaited->second.erase(pod_group->number);
        if (awaited->second.empty()) awaited_.erase(awaited);
      }
    }
  }
  book_.dirty().insert(pod_group->number);
  book_.to_write().insert(pod_group->number);
}

// Its pods are gone, and whoever made them makes the next ones.
void KubePodGroups::AwaitOwner(KubePodGroup& pod_group) {
  for (const std::string& uid : pod_group.members) {
    book_.group_of().erase(uid);
    // One that was to have the place of another, and was not bound yet, is one of the next ones.
    const auto pod = book_.pods().find(uid);
    if (pod != book_.pods().end() && pod->second.node.empty() && !pod->second.deleting) {
      pods_.joins().insert(uid);
    }
  }
  pod_group.members.clear();
  pod_group.evicted = book_.now();
  awaited_[pod_group.owner.uid].insert(pod_group.number);
  if (!pod_group.group.empty()) group_[pod_group.group] = pod_group.number;
  book_.dirty().insert(pod_group.number);
}

void KubePodGroups::Drop(std::int64_t number) {
  const auto found = book_.groups().find(number);
  if (found == book_.groups().end()) return;
  const KubePodGroup& pod_group = found->second;
  for (const std::string& uid : pod_group.members) book_.group_of().erase(uid);
  if (const auto group = group_.find(pod_group.group);
      group != group_.end() && group->second == number) {
    group_.erase(group);
  }
  if (const auto awaited = awaited_.find(pod_group.owner.uid); awaited != awaited_.end()) {
    awaited->second.erase(number);
    if (awaited->second.empty()) awaited_.erase(awaited);
  }
  book_.dirty().erase(number);
  book_.to_write().erase(number);
  book_.cancel_waiting().erase(number);
  book_.groups().erase(found);
}

}  // namespace sharewell::engine
