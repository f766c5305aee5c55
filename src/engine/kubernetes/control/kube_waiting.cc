#include "engine/kubernetes/control/kube_waiting.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/kubernetes/pods/pod_known.h"

namespace sharewell::engine {

namespace {

constexpr core::Seconds kPredictAgain(10);

}  // namespace

// Numbers that a store knows, and no pod has.
void KubeWaiting::EmitExpected() {
  groups_.JoinAll();
  for (const std::int64_t number : std::exchange(book_.expected(), {})) {
    if (book_.runs().contains(number)) continue;
    if (const auto pod_group = book_.groups().find(number); pod_group != book_.groups().end()) {
      pod_group->second.told = true;
      book_.dirty().insert(number);
      continue;
    }
    book_.Emit(JobWithdrawn{
        number, "Kubernetes has no pod with this number any more: it was deleted, or made anew"});
  }
}

// What it needs: as it is predicted now, else as its annotation has it. False: not known yet.
bool KubeWaiting::PutKnown(const KubePod& pod, KubePodGroup& pod_group, ForeignJob& job) {
  const auto& predict = book_.options().predict;
  predict_at_.erase(pod_group.number);
  std::string problem;
  auto known = KnownNeeds(pod, problem);
  if (!pod_group.words.model.empty() && predict && job.asked.gpus > 0) {
    auto predicted = predict(pod.name_space, pod_group.words, job.asked);
    if (!predicted) return false;
    if (!*predicted) predict_at_[pod_group.number] = book_.now() + kPredictAgain;
    if (*predicted || !known) {
      known.reset();
      (void)PutNeeds(std::move(predicted), job);
    }
  }
  if (known) job.asked.needs = std::move(*known);
  AddRemark(job.remark, problem);
  pod_group.known =
      job.asked.needs ? WriteKnown({*job.asked.needs, {}, pod_group.words.model}) : std::string();
  return true;
}

void KubeWaiting::PredictAgain() {
  std::vector<std::int64_t> due;
  for (const auto& [number, at] : predict_at_) {
    if (book_.now() >= at) due.push_back(number);
  }
  for (const std::int64_t number : due) {
    const auto found = book_.groups().find(number);
    if (found == book_.groups().end() || book_.runs().contains(number) ||
        found->second.members.empty()) {
      predict_at_.erase(number);
      continue;
    }
    KubePodGroup& pod_group = found->second;
    const KubePod& first = book_.pods().at(pod_group.members.front());
    ForeignJob job = SubmissionOf(first, pod_group.words, static_cast<int>(pod_group.Size()));
    if (!PutKnown(first, pod_group, job)) {
      predict_at_[number] = book_.now();  // it is being predicted
      continue;
    }
    if (predict_at_.contains(number) || !job.asked.needs) continue;
    book_.to_write().insert(number);
    book_.Emit(NeedsKnown{number, *job.asked.needs, job.remark});
  }
}

void KubeWaiting::EmitOne(KubePodGroup& pod_group) {
  const RunId id{pod_group.number, 0};
  groups_.ForgetGone(pod_group);
  if (pod_group.evicted && pod_group.members.empty()) {
    if (book_.now() >= *pod_group.evicted + book_.options().remade_within) {
      ends_.Withdraw(pod_group, id, "it was evicted, and its owner has made no other pod");
      return groups_.Drop(pod_group.number);
    }
  } else if (pod_group.members.empty()) {
    ends_.Withdraw(pod_group, id, "its pod was deleted in Kubernetes");
    return groups_.Drop(pod_group.number);
  }
  for (const std::string& uid : pod_group.members) {
    const KubePod& pod = book_.pods().at(uid);
    if (pod.node.empty() && !pod.deleting && !pod.IsOver()) continue;
    ends_.Withdraw(pod_group, id,
                   !pod.node.empty()
                       ? fmt::format("somebody else bound pod {} to node {}: it runs without "
                                     "Sharewell",
                                     core::Quoted(pod.Name()), core::Quoted(pod.node))
                       : "its pod was deleted in Kubernetes");
    return groups_.Drop(pod_group.number);
  }
  // One that comes back to a group that was complete.
  const std::size_t size = pod_group.Size();
  if (pod_group.members.size() < size && !pod_group.group.empty()) groups_.AwaitRest(pod_group);
  StartTerms terms = terms_.Of(pod_group);
  if (pod_group.told && pod_group.terms == terms) return;
  if (pod_group.told) {
    pod_group.terms = terms;
    return book_.Emit(TermsChanged{id.job, std::move(terms)});
  }
  const KubePod& first = book_.pods().at(pod_group.members.front());
  ForeignJob job = SubmissionOf(first, pod_group.words, static_cast<int>(size));
  if (!PutKnown(first, pod_group, job)) {
    return static_cast<void>(book_.dirty().insert(pod_group.number));  // to be asked again
  }
  pod_group.told = true;
  pod_group.terms = terms;
  job.terms = std::move(terms);
  book_.Emit(JobSubmitted{id.job, std::move(job)});
}

void KubeWaiting::EmitWaiting() {
  PredictAgain();
  if (std::exchange(told_version_, book_.terms_version()) != book_.terms_version()) {
    for (const auto& [number, pod_group] : book_.groups()) book_.dirty().insert(number);
  }
  for (const auto& [owner, numbers] : groups_.awaited())
    book_.dirty().insert(numbers.begin(), numbers.end());
  for (const std::int64_t number : std::exchange(book_.dirty(), {})) {
    const auto pod_group = book_.groups().find(number);
    if (pod_group != book_.groups().end() && !book_.runs().contains(number))
      EmitOne(pod_group->second);
  }
}

}  // namespace sharewell::engine
