#include "engine/kubernetes/control/kube_waiting.h"

#include <fmt/format.h>

#include <utility>

#include "core/text/quoted.h"

namespace sharewell::engine {

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
  if (!pod_group.words.model.empty() && book_.options().predict && job.asked.gpus > 0 &&
      !PutNeeds(book_.options().predict(first.name_space, pod_group.words, job.asked), job)) {
    return static_cast<void>(book_.dirty().insert(pod_group.number));  // to be asked again
  }
  pod_group.told = true;
  pod_group.terms = terms;
  job.terms = std::move(terms);
  book_.Emit(JobSubmitted{id.job, std::move(job)});
}

void KubeWaiting::EmitWaiting() {
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
