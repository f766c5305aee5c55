#include "engine/kubernetes/control/kube_ends.h"

#include <fmt/format.h>

#include <utility>

#include "core/text/quoted.h"

namespace sharewell::engine {

void KubeEnds::Withdraw(KubePodGroup& pod_group, RunId id, std::string why) {
  if (pod_group.told && !std::exchange(pod_group.withdrawn, true)) {
    book_.Emit(JobWithdrawn{id.job, std::move(why)});
  }
}

// Of this node alone: another server may have claimed elsewhere for the same pod.
void KubeEnds::Free(const KubeMember& member) {
  const auto here = book_.nodes().find(member.node);
  if (here != book_.nodes().end()) here->second.freed[member.uid] = member.claim;
}

// Its pods wait on.
void KubeEnds::Refuse(std::int64_t job, std::string why) {
  const auto found = book_.runs().find(job);
  const RunId id = found->second.request.id;
  const WantedRun wanted = found->second.wanted;
  // Where a binding may be under way, its claim rests.
  for (const KubeMember& member : found->second.members) {
    if (!found->second.bind_sent) Free(member);
    book_.touched().insert(member.node);
  }
  book_.runs().erase(found);
  book_.dirty().insert(job);
  if (wanted == WantedRun::kNothing) return book_.Emit(StartRefused{id, std::move(why)});
  book_.Emit(RunEnded{id, book_.ended()[id] = StoppedEnd("it was stopped before it began")});
}

// Its pods are over or gone.
void KubeEnds::End(std::int64_t job, RunEnd end) {
  const KubeRun run = std::move(book_.runs().at(job));
  book_.runs().erase(job);
  for (const KubeMember& member : run.members) {
    Free(member);
    book_.touched().insert(member.node);
  }
  if (const auto found = book_.groups().find(job); found != book_.groups().end()) {
    KubePodGroup& pod_group = found->second;
    const bool left = run.wanted == WantedRun::kStop || end.lost;
    const bool again = left && (end.stopped || end.lost) && !pod_group.withdrawn;
    if (again && !pod_group.owner.uid.empty()) {
      groups_.AwaitOwner(pod_group);
      pod_group.terms = terms_.Of(pod_group);
      book_.Emit(TermsChanged{job, *pod_group.terms});
    } else {
      if (again)
        Withdraw(pod_group, run.request.id, "it was evicted, and nothing makes its pod again");
      groups_.Drop(job);
    }
  }
  book_.ended()[run.request.id] = end;
  book_.Emit(RunEnded{run.request.id, std::move(end)});
}

// It runs on without us.
void KubeEnds::TakeOver(std::int64_t job, const std::string& how) {
  if (const auto pod_group = book_.groups().find(job); pod_group != book_.groups().end()) {
    Withdraw(pod_group->second, book_.runs().at(job).request.id,
             how + ": it runs without Sharewell");
  }
  book_.runs().at(job).wanted = WantedRun::kNothing;
  End(job, StoppedEnd(how));
}

// Of a run that is not bound: a pod was deleted, or bound by somebody else, who runs it then.
bool KubeEnds::LosesPod(std::int64_t job, const std::vector<std::string>& uids) {
  bool deleted = false;
  for (const std::string& uid : uids) {
    const auto pod = book_.pods().find(uid);
    if (pod != book_.pods().end() && !pod->second.node.empty()) {
      TakeOver(job, fmt::format("somebody else bound pod {} to node {}",
                                core::Quoted(pod->second.Name()), core::Quoted(pod->second.node)));
      return true;
    }
    deleted = deleted || pod == book_.pods().end() || pod->second.deleting;
  }
  if (deleted) Refuse(job, "its pod was deleted");
  return deleted;
}

}  // namespace sharewell::engine
