// Pods as jobs: which are ours, what number each has, what keeps it waiting, and how that is shown
// in Kubernetes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_control.h"
#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr std::size_t kMostWordsAtOnce = 50;
constexpr std::size_t kMostWordsBesides = 5;  // pods that are being started
constexpr std::size_t kMostDeletesAtOnce = 100;
constexpr Seconds kEventEvery(60);
constexpr int kNodesNamed = 3;

}  // namespace

bool KubeControl::IsOurs(const KubePod& pod) const {
  return pod.scheduler == options_.scheduler &&
         (options_.space.empty() || pod.space == options_.space);
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
  if (const auto party = party_of_.find(pod.uid); party != party_of_.end()) {
    dirty_.insert(party->second);
    if (pod.job != party->second) to_write_.insert(party->second);
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
  const auto party = party_of_.find(uid);
  if (party == party_of_.end()) return;
  dirty_.insert(party->second);
  const auto run = runs_.find(party->second);
  if (run == runs_.end()) return;
  for (Member& member : run->second.members) {
    if (member.uid == uid) member.last = pod;
  }
}

KubeControl::Party& KubeControl::NewParty(const KubePod& pod, const std::string& group) {
  const auto is_free = [&](std::int64_t number) {
    return !parties_.contains(number) && !runs_.contains(number);
  };
  std::int64_t number = pod.job.value_or(0);
  // A run without pods may have been started before its pod was read.
  const auto run = runs_.find(number);
  const bool awaited = run != runs_.end() && run->second.members.empty();
  if (number <= 0 || parties_.contains(number) || (run != runs_.end() && !awaited)) {
    while (!is_free(next_number_)) ++next_number_;
    number = next_number_++;
  }
  Party& party = parties_[number];
  party.number = number;
  party.group = group;
  party.name = group.empty() ? pod.Name() : group;
  party.owner = pod.owner;
  return party;
}

// Owners and groups whose pods are about to be gone because we evicted them.
std::set<std::string> KubeControl::Leaving() const {
  std::set<std::string> leaving;
  for (const auto& [job, run] : runs_) {
    if (run.wanted != Wanted::kStop) continue;
    const auto party = parties_.find(job);
    if (party == parties_.end() || party->second.owner.uid.empty()) continue;
    const bool leaves =
        std::any_of(run.members.begin(), run.members.end(), [&](const Member& member) {
          const KubePod* pod = PodOf(member);
          return pod == nullptr || pod->deleting;
        });
    if (!leaves) continue;
    leaving.insert(party->second.owner.uid);
    if (!party->second.group.empty()) leaving.insert(party->second.group);
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
    if (found == pods_.end() || party_of_.contains(uid)) continue;
    const KubePod& pod = found->second;
    const auto group = leaving.empty() ? pod.annotations.end() : pod.annotations.find("pod-group");
    if (leaving.contains(pod.owner.uid) ||
        (group != pod.annotations.end() && leaving.contains(pod.space + "/" + group->second))) {
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
    return std::tie(a->created, a->space, a->name) < std::tie(b->created, b->space, b->name);
  });
  for (const KubePod* pod : all) Join(*pod);
}

// Members that were deleted while it waited.
void KubeControl::ForgetGone(Party& party) {
  std::erase_if(party.members, [&](const std::string& uid) {
    if (pods_.contains(uid)) return false;
    party_of_.erase(uid);
    return true;
  });
}

void KubeControl::Join(const KubePod& pod) {
  const PodWords words = ParsePodWords(pod);
  Party* party = nullptr;
  const std::string group = words.group.empty() ? "" : pod.space + "/" + words.group;
  if (!group.empty()) {
    if (const auto found = group_.find(group); found != group_.end()) {
      party = &parties_.at(found->second);
    }
  } else if (const auto found = awaited_.find(pod.owner.uid);
             !pod.owner.uid.empty() && found != awaited_.end()) {
    for (const std::int64_t number : found->second) {
      Party& one = parties_.at(number);
      if (one.group.empty() && (party == nullptr || pod.job == number)) party = &one;
    }
  }
  if (party == nullptr) party = &NewParty(pod, group);
  if (!group.empty()) group_[group] = party->number;
  ForgetGone(*party);
  if (party->members.empty()) party->words = words;
  party->members.push_back(pod.uid);
  std::sort(party->members.begin(), party->members.end(),
            [&](const auto& a, const auto& b) { return pods_.at(a).name < pods_.at(b).name; });
  party_of_[pod.uid] = party->number;
  const auto size = static_cast<std::size_t>(party->group.empty() ? 1 : party->words.group_size);
  if (party->members.size() >= size) {
    group_.erase(group);  // who comes now is of the next one
    if (std::exchange(party->evicted, std::nullopt)) {
      const auto awaited = awaited_.find(party->owner.uid);
      if (awaited != awaited_.end()) {
        awaited->second.erase(party->number);
        if (awaited->second.empty()) awaited_.erase(awaited);
      }
    }
  }
  dirty_.insert(party->number);
  to_write_.insert(party->number);
}

// Its pods are gone, and whoever made them makes the next ones.
void KubeControl::AwaitOwner(Party& party) {
  for (const std::string& uid : party.members) party_of_.erase(uid);
  party.members.clear();
  party.evicted = now_;
  awaited_[party.owner.uid].insert(party.number);
  if (!party.group.empty()) group_[party.group] = party.number;
  dirty_.insert(party.number);
}

void KubeControl::DropParty(std::int64_t number) {
  const auto found = parties_.find(number);
  if (found == parties_.end()) return;
  const Party& party = found->second;
  for (const std::string& uid : party.members) party_of_.erase(uid);
  if (const auto group = group_.find(party.group);
      group != group_.end() && group->second == number) {
    group_.erase(group);
  }
  if (const auto awaited = awaited_.find(party.owner.uid); awaited != awaited_.end()) {
    awaited->second.erase(number);
    if (awaited->second.empty()) awaited_.erase(awaited);
  }
  dirty_.erase(number);
  to_write_.erase(number);
  cancel_waiting_.erase(number);
  cancel_asked_.erase(number);
  parties_.erase(found);
}

void KubeControl::Withdraw(Party& party, RunId id, std::string why) {
  if (party.told && !std::exchange(party.withdrawn, true)) {
    Emit(JobWithdrawn{id.job, std::move(why)});
  }
}

// Numbers that a store knows, and no pod has.
void KubeControl::EmitExpected() {
  JoinAll();
  for (const std::int64_t number : std::exchange(expected_, {})) {
    if (runs_.contains(number)) continue;
    if (const auto party = parties_.find(number); party != parties_.end()) {
      party->second.told = true;
      dirty_.insert(number);
      continue;
    }
    Emit(JobWithdrawn{
        number, "Kubernetes has no pod with this number any more: it was deleted, or made anew"});
  }
}

std::string KubeControl::WhyVolumesWait(const KubePod& pod) const {
  for (const std::string& name : pod.claims) {
    const auto claim = volume_claims_.find(pod.space + "/" + name);
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
    const auto claim = volume_claims_.find(pod.space + "/" + name);
    if (claim == volume_claims_.end()) return false;
    const auto volume = volumes_.find(claim->second.volume);
    return volume != volumes_.end() &&
           (volume->second.affinity.empty() || AnyTermHolds(volume->second.affinity, node));
  });
}

// Empty: nothing but a place.
std::string KubeControl::WhyItWaits(const Party& party) const {
  if (party.evicted && party.members.empty()) {
    return fmt::format("waits for the pod that {} {} makes after the eviction", party.owner.kind,
                       core::Quoted(party.owner.name));
  }
  const auto size = static_cast<std::size_t>(party.group.empty() ? 1 : party.words.group_size);
  const KubePod& first = pods_.at(party.members.front());
  for (const std::string& uid : party.members) {
    const KubePod& pod = pods_.at(uid);
    const PodWords words = ParsePodWords(pod);
    if (!words.refusal.empty()) return words.refusal;
    if (!pod.gates.empty()) {
      return fmt::format("waits until its spec.schedulingGates are removed: {}",
                         core::Quoted(fmt::format("{}", fmt::join(pod.gates, ", "))));
    }
    if (party.group.empty()) continue;
    if (words.gpus != party.words.gpus || words.group_size != party.words.group_size ||
        ShapeOf(pod) != ShapeOf(first)) {
      return fmt::format(
          "pods {} and {} of its pod group ask for different things; Sharewell starts a group only "
          "of pods that are alike",
          core::Quoted(first.name), core::Quoted(pod.name));
    }
  }
  if (party.members.size() < size) {
    return fmt::format("waits for the rest of its pod group: {} of {} pods are there",
                       party.members.size(), size);
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

StartTerms KubeControl::TermsOf(const Party& party) {
  StartTerms terms;
  terms.waits_for = WhyItWaits(party);
  if (!party.members.empty()) {
    const KubePod& first = pods_.at(party.members.front());
    if (terms.waits_for.empty()) terms = NodesFor(first);
    terms.priority = first.priority;
    terms.preempts = first.preempts;
    terms.keeps_place = KeepsPlace(first, party.words);
  } else if (party.terms) {
    terms.priority = party.terms->priority;
    terms.preempts = party.terms->preempts;
    terms.keeps_place = party.terms->keeps_place;
  }
  if (!party.group.empty() && party.words.gpus > 1) terms.gpus_a_node = party.words.gpus;
  return terms;
}

void KubeControl::EmitOne(Party& party) {
  const RunId id{party.number, 0};
  ForgetGone(party);
  if (party.evicted && party.members.empty()) {
    if (now_ >= *party.evicted + options_.remade_within) {
      Withdraw(party, id, "it was evicted, and its owner has made no other pod");
      return DropParty(party.number);
    }
  } else if (party.members.empty()) {
    Withdraw(party, id, "its pod was deleted in Kubernetes");
    return DropParty(party.number);
  }
  for (const std::string& uid : party.members) {
    const KubePod& pod = pods_.at(uid);
    if (pod.node.empty() && !pod.deleting && !pod.IsOver()) continue;
    Withdraw(party, id,
             !pod.node.empty()
                 ? fmt::format("somebody else bound pod {} to node {}: it runs without "
                               "Sharewell",
                               core::Quoted(pod.Name()), core::Quoted(pod.node))
                 : "its pod was deleted in Kubernetes");
    return DropParty(party.number);
  }
  // One that comes back to a group that was complete.
  const auto size = static_cast<std::size_t>(party.group.empty() ? 1 : party.words.group_size);
  if (party.members.size() < size && !party.group.empty())
    group_.try_emplace(party.group, party.number);
  StartTerms terms = TermsOf(party);
  if (party.told && party.terms == terms) return;
  if (party.told) {
    party.terms = terms;
    return Emit(TermsChanged{id.job, std::move(terms)});
  }
  const KubePod& first = pods_.at(party.members.front());
  ForeignJob job = SubmissionOf(first, party.words, static_cast<int>(size));
  if (!party.words.model.empty() && options_.predict && job.asked.gpus > 0 &&
      !PutNeeds(options_.predict(first.space, party.words, job.asked), job)) {
    return static_cast<void>(dirty_.insert(party.number));  // to be asked again
  }
  party.told = true;
  party.terms = terms;
  job.terms = std::move(terms);
  Emit(JobSubmitted{id.job, std::move(job)});
}

void KubeControl::EmitWaiting() {
  if (std::exchange(told_version_, terms_version_) != terms_version_) {
    for (const auto& [number, party] : parties_) dirty_.insert(number);
  }
  for (const auto& [owner, numbers] : awaited_) dirty_.insert(numbers.begin(), numbers.end());
  for (const std::int64_t number : std::exchange(dirty_, {})) {
    const auto party = parties_.find(number);
    if (party != parties_.end() && !runs_.contains(number)) EmitOne(party->second);
  }
}

// What the service says of it, as `kubectl describe pod` shows it.
void KubeControl::SendWaits() {
  std::size_t count = 0;
  std::vector<std::int64_t> done;
  // Where the last Cycle left off: the words of many change with every decision.
  const auto first = to_write_.lower_bound(next_to_write_);
  std::vector<std::int64_t> turns(first, to_write_.end());
  turns.insert(turns.end(), to_write_.begin(), first);
  for (const std::int64_t number : turns) {
    if (count >= (busy_ ? kMostWordsBesides : kMostWordsAtOnce)) {
      next_to_write_ = number;
      break;
    }
    const auto found = parties_.find(number);
    const auto run = runs_.find(number);
    if (found == parties_.end() || (run != runs_.end() && run->second.step != Step::kPlace)) {
      done.push_back(number);
      continue;
    }
    Party& party = found->second;
    if (party.waits.empty()) continue;  // it was not decided on yet
    if (party.written_at && now_ < *party.written_at + options_.words_every) continue;
    for (const std::string& uid : party.members) {
      const auto pod = pods_.find(uid);
      if (pod == pods_.end() || !pod->second.node.empty()) continue;
      if (pod->second.told == party.waits && pod->second.job == number) continue;
      ++count;
      Put(WaitsRequest(pod->second, number, party.waits, options_.wall()),
          [this, number](const auto&, const auto& answer) {
            const auto written = parties_.find(number);
            if (written == parties_.end()) return;
            written->second.written_at = now_;
            if (answer && answer->status < 300) ++written_.conditions;
            if (!answer || answer->status >= 429) to_write_.insert(number);
          });
      const bool due = !party.event_at || now_ >= *party.event_at + kEventEvery;
      if (party.event_words == party.waits || !due) continue;
      party.event_words = party.waits;
      party.event_at = now_;
      QueueEvent(pod->second, {"FailedScheduling", party.waits, true});
    }
    done.push_back(number);
  }
  for (const std::int64_t number : done) to_write_.erase(number);
}

// Jobs that are over and still have a pod that waits.
void KubeControl::SendCancels() {
  std::size_t count = 0;
  for (auto job = cancel_waiting_.begin(); job != cancel_waiting_.end();) {
    const auto party = parties_.find(*job);
    if (party == parties_.end() || runs_.contains(*job)) {
      job = cancel_waiting_.erase(job);
      continue;
    }
    const auto asked = cancel_asked_.find(*job);
    const bool due = asked == cancel_asked_.end() || now_ >= asked->second + options_.again_after;
    if (due && count < kMostDeletesAtOnce) {
      cancel_asked_[*job] = now_;
      for (const std::string& uid : party->second.members) {
        const auto pod = pods_.find(uid);
        // One that somebody bound meanwhile is not ours to delete.
        if (pod == pods_.end() || !pod->second.node.empty()) continue;
        Put(DeleteRequest(pod->second));
        ++written_.deletes;
        ++count;
      }
    }
    ++job;
  }
}

}  // namespace sharewell::engine
