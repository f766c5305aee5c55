// Pods as jobs: which are ours, what number each has, and what keeps it waiting.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_control.h"
#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr int kNodesNamed = 3;

}  // namespace

bool KubeControl::IsOurs(const KubePod& pod) const {
  return pod.scheduler == options_.scheduler &&
         (options_.name_space.empty() || pod.name_space == options_.name_space);
}

void KubeControl::PutPod(KubePod pod) {
  if (pod.job) next_number_ = std::max(next_number_, *pod.job + 1);
  const bool ours = IsOurs(pod);
  const auto old = pods_.find(pod.uid);
  if (old != pods_.end() && !old->second.node.empty()) {
    on_node_[old->second.node].erase(pod.uid);
    TouchNode(old->second.node);
  }
  if (!ours && pod.node.empty()) return;  // another scheduler's, and it waits
  if (!pod.node.empty() && !pod.IsOver()) on_node_[pod.node].insert(pod.uid);
  if (!pod.node.empty()) TouchNode(pod.node);
  if (const auto pod_group = pod_group_of_.find(pod.uid); pod_group != pod_group_of_.end()) {
    dirty_.insert(pod_group->second);
    if (pod.job != pod_group->second) to_write_.insert(pod_group->second);
  } else if (ours && pod.node.empty() && !pod.IsOver() && !pod.deleting) {
    joins_.insert(pod.uid);
  }
  std::string uid = pod.uid;
  pods_.insert_or_assign(std::move(uid), std::move(pod));
}

void KubeControl::DropPod(const std::string& uid) {
  joins_.erase(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const KubePod pod = std::move(found->second);
  pods_.erase(found);
  if (!pod.node.empty()) {
    on_node_[pod.node].erase(uid);
    TouchNode(pod.node);
  }
  const auto pod_group = pod_group_of_.find(uid);
  if (pod_group == pod_group_of_.end()) return;
  dirty_.insert(pod_group->second);
  const auto run = runs_.find(pod_group->second);
  if (run == runs_.end()) return;
  for (Member& member : run->second.members) {
    if (member.uid == uid) member.last = pod;
  }
}

KubeControl::PodGroup& KubeControl::NewPodGroup(const KubePod& pod, const std::string& group) {
  const auto is_free = [&](std::int64_t number) {
    return !pod_groups_.contains(number) && !runs_.contains(number);
  };
  std::int64_t number = pod.job.value_or(0);
  // A run without pods may have been started before its pod was read.
  const auto run = runs_.find(number);
  const bool awaited = run != runs_.end() && run->second.members.empty();
  if (number <= 0 || pod_groups_.contains(number) || (run != runs_.end() && !awaited)) {
    while (!is_free(next_number_)) ++next_number_;
    number = next_number_++;
  }
  PodGroup& pod_group = pod_groups_[number];
  pod_group.number = number;
  pod_group.group = group;
  pod_group.name = group.empty() ? pod.Name() : group;
  pod_group.owner = pod.owner;
  return pod_group;
}

// Owners and groups whose pods are about to be gone because we evicted them.
std::set<std::string> KubeControl::Leaving() const {
  std::set<std::string> leaving;
  for (const auto& [job, run] : runs_) {
    if (run.wanted != Wanted::kStop) continue;
    const auto pod_group = pod_groups_.find(job);
    if (pod_group == pod_groups_.end() || pod_group->second.owner.uid.empty()) continue;
    const bool leaves =
        std::any_of(run.members.begin(), run.members.end(), [&](const Member& member) {
          const KubePod* pod = PodOf(member);
          return pod == nullptr || pod->deleting;
        });
    if (!leaves) continue;
    leaving.insert(pod_group->second.owner.uid);
    if (!pod_group->second.group.empty()) leaving.insert(pod_group->second.group);
  }
  return leaving;
}

// In the order in which they were made, so that numbers are. An owner may make its next pod before
// the one that was evicted is gone: it joins when that one's run has ended, as the same job.
void KubeControl::JoinAll() {
  if (joins_.empty()) return;
  const std::set<std::string> leaving = Leaving();
  std::vector<const KubePod*> all;
  for (const std::string& uid : std::exchange(joins_, {})) {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || pod_group_of_.contains(uid)) continue;
    const KubePod& pod = found->second;
    const auto group = leaving.empty() ? pod.annotations.end() : pod.annotations.find("pod-group");
    if (leaving.contains(pod.owner.uid) ||
        (group != pod.annotations.end() &&
         leaving.contains(pod.name_space + "/" + group->second))) {
      joins_.insert(uid);
    } else {
      all.push_back(&pod);
    }
  }
  const auto last = next_number_ + static_cast<std::int64_t>(all.size() + runs_.size());
  if (!all.empty() && options_.may_number && !options_.may_number(last)) {
    for (const KubePod* pod : all) joins_.insert(pod->uid);
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
void KubeControl::ForgetGone(PodGroup& pod_group) {
  std::erase_if(pod_group.members, [&](const std::string& uid) {
    if (pods_.contains(uid)) return false;
    pod_group_of_.erase(uid);
    return true;
  });
}

void KubeControl::Join(const KubePod& pod) {
  const PodWords words = ParsePodWords(pod);
  PodGroup* pod_group = nullptr;
  const std::string group = words.group.empty() ? "" : pod.name_space + "/" + words.group;
  if (!group.empty()) {
    if (const auto found = group_.find(group); found != group_.end()) {
      pod_group = &pod_groups_.at(found->second);
    }
  } else if (const auto found = awaited_.find(pod.owner.uid);
             !pod.owner.uid.empty() && found != awaited_.end()) {
    for (const std::int64_t number : found->second) {
      PodGroup& one = pod_groups_.at(number);
      if (one.group.empty() && (pod_group == nullptr || pod.job == number)) pod_group = &one;
    }
  }
  if (pod_group == nullptr) pod_group = &NewPodGroup(pod, group);
  if (!group.empty()) group_[group] = pod_group->number;
  ForgetGone(*pod_group);
  if (pod_group->members.empty()) pod_group->words = words;
  pod_group->members.push_back(pod.uid);
  std::sort(pod_group->members.begin(), pod_group->members.end(),
            [&](const auto& a, const auto& b) { return pods_.at(a).name < pods_.at(b).name; });
  pod_group_of_[pod.uid] = pod_group->number;
  const auto size =
      static_cast<std::size_t>(pod_group->group.empty() ? 1 : pod_group->words.group_size);
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
  dirty_.insert(pod_group->number);
  to_write_.insert(pod_group->number);
}

// Its pods are gone, and whoever made them makes the next ones.
void KubeControl::AwaitOwner(PodGroup& pod_group) {
  for (const std::string& uid : pod_group.members) pod_group_of_.erase(uid);
  pod_group.members.clear();
  pod_group.evicted = now_;
  awaited_[pod_group.owner.uid].insert(pod_group.number);
  if (!pod_group.group.empty()) group_[pod_group.group] = pod_group.number;
  dirty_.insert(pod_group.number);
}

void KubeControl::DropPodGroup(std::int64_t number) {
  const auto found = pod_groups_.find(number);
  if (found == pod_groups_.end()) return;
  const PodGroup& pod_group = found->second;
  for (const std::string& uid : pod_group.members) pod_group_of_.erase(uid);
  if (const auto group = group_.find(pod_group.group);
      group != group_.end() && group->second == number) {
    group_.erase(group);
  }
  if (const auto awaited = awaited_.find(pod_group.owner.uid); awaited != awaited_.end()) {
    awaited->second.erase(number);
    if (awaited->second.empty()) awaited_.erase(awaited);
  }
  dirty_.erase(number);
  to_write_.erase(number);
  cancel_waiting_.erase(number);
  cancel_asked_.erase(number);
  pod_groups_.erase(found);
}

void KubeControl::Withdraw(PodGroup& pod_group, RunId id, std::string why) {
  if (pod_group.told && !std::exchange(pod_group.withdrawn, true)) {
    Emit(JobWithdrawn{id.job, std::move(why)});
  }
}

// Numbers that a store knows, and no pod has.
void KubeControl::EmitExpected() {
  JoinAll();
  for (const std::int64_t number : std::exchange(expected_, {})) {
    if (runs_.contains(number)) continue;
    if (const auto pod_group = pod_groups_.find(number); pod_group != pod_groups_.end()) {
      pod_group->second.told = true;
      dirty_.insert(number);
      continue;
    }
    Emit(JobWithdrawn{
        number, "Kubernetes has no pod with this number any more: it was deleted, or made anew"});
  }
}

std::string KubeControl::WhyVolumesWait(const KubePod& pod) const {
  for (const std::string& name : pod.claims) {
    const auto claim = volume_claims_.find(pod.name_space + "/" + name);
    if (claim == volume_claims_.end()) {
      return fmt::format("waits for its volume claim {}, which is not there", core::Quoted(name));
    }
    if (claim->second.one_pod) {
      return fmt::format(
          "Sharewell cannot judge the access mode ReadWriteOncePod of its volume claim {}, so it "
          "never binds such a pod; use ReadWriteOnce or another schedulerName",
          core::Quoted(name));
    }
    if (claim->second.volume.empty() || !volumes_.contains(claim->second.volume)) {
      return fmt::format(
          "waits until its volume claim {} is bound (spec.volumes.persistentVolumeClaim): "
          "Sharewell "
          "does not choose volumes, so a claim with WaitForFirstConsumer has to be bound before",
          core::Quoted(name));
    }
  }
  return {};
}

bool KubeControl::VolumesAllow(const KubePod& pod, const KubeNode& node) const {
  return std::all_of(pod.claims.begin(), pod.claims.end(), [&](const std::string& name) {
    const auto claim = volume_claims_.find(pod.name_space + "/" + name);
    if (claim == volume_claims_.end()) return false;
    const auto volume = volumes_.find(claim->second.volume);
    return volume != volumes_.end() &&
           (volume->second.affinity.empty() || AnyTermHolds(volume->second.affinity, node));
  });
}

// Empty: nothing but a place.
std::string KubeControl::WhyItWaits(const PodGroup& pod_group) const {
  if (pod_group.evicted && pod_group.members.empty()) {
    return fmt::format("waits for the pod that {} {} makes after the eviction",
                       pod_group.owner.kind, core::Quoted(pod_group.owner.name));
  }
  const auto size =
      static_cast<std::size_t>(pod_group.group.empty() ? 1 : pod_group.words.group_size);
  const KubePod& first = pods_.at(pod_group.members.front());
  for (const std::string& uid : pod_group.members) {
    const KubePod& pod = pods_.at(uid);
    const PodWords words = ParsePodWords(pod);
    if (!words.refusal.empty()) return words.refusal;
    if (!pod.gates.empty()) {
      return fmt::format("waits until its spec.schedulingGates are removed: {}",
                         core::Quoted(fmt::format("{}", fmt::join(pod.gates, ", "))));
    }
    if (pod_group.group.empty()) continue;
    if (words.gpus != pod_group.words.gpus || words.group_size != pod_group.words.group_size ||
        ShapeOf(pod) != ShapeOf(first)) {
      return fmt::format(
          "pods {} and {} of its pod group ask for different things; Sharewell starts a group only "
          "of pods that are alike",
          core::Quoted(first.name), core::Quoted(pod.name));
    }
  }
  if (pod_group.members.size() < size) {
    return fmt::format("waits for the rest of its pod group: {} of {} pods are there",
                       pod_group.members.size(), size);
  }
  return WhyVolumesWait(first);
}

// Of all pods with the same shape once, until nodes or volumes change.
const StartTerms& KubeControl::NodesFor(const KubePod& pod) {
  if (std::exchange(shapes_version_, terms_version_) != terms_version_) shapes_.clear();
  const auto [found, is_new] = shapes_.try_emplace(ShapeOf(pod));
  StartTerms& terms = found->second;
  if (!is_new) return terms;
  std::size_t all = 0;
  std::vector<std::string> why;
  for (const auto& [name, here] : nodes_) {
    if (!here.usable || !here.there) continue;
    ++all;
    std::string not_here = WhyNotOn(pod, here.kube);
    if (not_here.empty() && !VolumesAllow(pod, here.kube)) not_here = "its volume is elsewhere";
    if (not_here.empty()) {
      terms.nodes.push_back(name);
    } else if (why.size() < kNodesNamed) {
      why.push_back(fmt::format("{}: {}", name, not_here));
    }
  }
  if (terms.nodes.empty() && all > 0) {
    terms.waits_for = fmt::format("none of {} nodes can take it ({}{})", all, fmt::join(why, "; "),
                                  all > why.size() ? "; ..." : "");
  }
  if (terms.nodes.size() == all) terms.nodes.clear();  // any
  return terms;
}

StartTerms KubeControl::TermsOf(const PodGroup& pod_group) {
  StartTerms terms;
  terms.waits_for = WhyItWaits(pod_group);
  if (!pod_group.members.empty()) {
    const KubePod& first = pods_.at(pod_group.members.front());
    if (terms.waits_for.empty()) terms = NodesFor(first);
    terms.priority = first.priority;
    terms.preempts = first.preempts;
    terms.keeps_place = KeepsPlace(first, pod_group.words);
  } else if (pod_group.terms) {
    terms.priority = pod_group.terms->priority;
    terms.preempts = pod_group.terms->preempts;
    terms.keeps_place = pod_group.terms->keeps_place;
  }
  if (!pod_group.group.empty() && pod_group.words.gpus > 1)
    terms.gpus_a_node = pod_group.words.gpus;
  return terms;
}

void KubeControl::EmitOne(PodGroup& pod_group) {
  const RunId id{pod_group.number, 0};
  ForgetGone(pod_group);
  if (pod_group.evicted && pod_group.members.empty()) {
    if (now_ >= *pod_group.evicted + options_.remade_within) {
      Withdraw(pod_group, id, "it was evicted, and its owner has made no other pod");
      return DropPodGroup(pod_group.number);
    }
  } else if (pod_group.members.empty()) {
    Withdraw(pod_group, id, "its pod was deleted in Kubernetes");
    return DropPodGroup(pod_group.number);
  }
  for (const std::string& uid : pod_group.members) {
    const KubePod& pod = pods_.at(uid);
    if (pod.node.empty() && !pod.deleting && !pod.IsOver()) continue;
    Withdraw(pod_group, id,
             !pod.node.empty()
                 ? fmt::format("somebody else bound pod {} to node {}: it runs without "
                               "Sharewell",
                               core::Quoted(pod.Name()), core::Quoted(pod.node))
                 : "its pod was deleted in Kubernetes");
    return DropPodGroup(pod_group.number);
  }
  // One that comes back to a group that was complete.
  const auto size =
      static_cast<std::size_t>(pod_group.group.empty() ? 1 : pod_group.words.group_size);
  if (pod_group.members.size() < size && !pod_group.group.empty())
    group_.try_emplace(pod_group.group, pod_group.number);
  StartTerms terms = TermsOf(pod_group);
  if (pod_group.told && pod_group.terms == terms) return;
  if (pod_group.told) {
    pod_group.terms = terms;
    return Emit(TermsChanged{id.job, std::move(terms)});
  }
  const KubePod& first = pods_.at(pod_group.members.front());
  ForeignJob job = SubmissionOf(first, pod_group.words, static_cast<int>(size));
  if (!pod_group.words.model.empty() && options_.predict && job.asked.gpus > 0 &&
      !PutNeeds(options_.predict(first.name_space, pod_group.words, job.asked), job)) {
    return static_cast<void>(dirty_.insert(pod_group.number));  // to be asked again
  }
  pod_group.told = true;
  pod_group.terms = terms;
  job.terms = std::move(terms);
  Emit(JobSubmitted{id.job, std::move(job)});
}

void KubeControl::EmitWaiting() {
  if (std::exchange(told_version_, terms_version_) != terms_version_) {
    for (const auto& [number, pod_group] : pod_groups_) dirty_.insert(number);
  }
  for (const auto& [owner, numbers] : awaited_) dirty_.insert(numbers.begin(), numbers.end());
  for (const std::int64_t number : std::exchange(dirty_, {})) {
    const auto pod_group = pod_groups_.find(number);
    if (pod_group != pod_groups_.end() && !runs_.contains(number)) EmitOne(pod_group->second);
  }
}

}  // namespace sharewell::engine
