#include "engine/kubernetes/control/kube_run_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"
#include "engine/told_steps.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kClaimWithin(15);  // as long as a pod may be bound after it
constexpr std::size_t kMostDeletesAtOnce = 100;

}  // namespace

void KubeRunSteps::EmitStarted(KubeRun& run) {
  if (std::exchange(run.told_started, true)) return;
  book_.Emit(RunStarted{run.request.id});
}

bool KubeRunSteps::AllOver(const KubeRun& run) const {
  return std::all_of(run.members.begin(), run.members.end(), [&](const KubeMember& member) {
    const KubePod* pod = book_.PodOf(member);
    return pod == nullptr || pod->IsOver() || (pod->node.empty() && !member.joins);
  });
}

RunEnd KubeRunSteps::EndOf(const KubeRun& run) const {
  RunEnd end;
  for (const KubeMember& member : run.members) {
    const KubePod* pod = book_.PodOf(member);
    if (pod == nullptr && member.last) pod = &*member.last;
    if (pod != nullptr && pod->phase == KubePhase::kSucceeded) continue;
    if (end.exit_code != 0) continue;  // the first tells
    if (pod != nullptr && pod->phase == KubePhase::kFailed) {
      end.exit_code = pod->exit_code && *pod->exit_code != 0 ? *pod->exit_code : 1;
      if (end.exit_code > 128 && end.exit_code < 128 + 65) end.signal = end.exit_code - 128;
      end.timed_out = pod->reason == "DeadlineExceeded";
      // By its node, which was short of something or went down in order: not its own doing.
      end.lost = pod->reason == "Evicted" || pod->reason == "NodeLost" ||
                 pod->reason == "Shutdown" || pod->reason == "Terminated" ||
                 pod->reason == "NodeShutdown" || pod->reason == "Preempting" ||
                 pod->reason.starts_with("OutOf") || pod->reason.starts_with("UnexpectedAdmission");
      end.message = pod->message;
      if (!pod->reason.empty()) {
        end.message = pod->reason + (pod->message.empty() ? "" : ": " + pod->message);
      } else if (pod->out_of_memory) {
        end.message = "it was killed for lack of host memory (OOMKilled)";
      }
      end.stopped = run.wanted != WantedRun::kNothing;
      continue;
    }
    end = StoppedEnd(run.wanted == WantedRun::kNothing ? "its pod was deleted in Kubernetes" : "");
    end.lost = run.wanted != WantedRun::kCancel && nodes_.IsLost(member.node);
    if (end.lost) end.message = fmt::format("node {} was lost", member.node);
  }
  if (run.wanted == WantedRun::kStop && end.stopped && !run.refused.empty())
    end.message = run.refused;
  return end;
}

// Before it is bound.
void KubeRunSteps::AdvanceBefore(std::int64_t job) {
  KubeRun& run = book_.runs().at(job);
  if (run.wanted == WantedRun::kStop) return ends_.Refuse(job, {});
  const auto pod_group = book_.groups().find(job);
  if (run.wanted == WantedRun::kCancel) {
    const auto is_gone = [&](const std::string& uid) { return !book_.pods().contains(uid); };
    if (pod_group == book_.groups().end() ||
        std::all_of(pod_group->second.members.begin(), pod_group->second.members.end(), is_gone)) {
      ends_.End(job, StoppedEnd("it was cancelled before it began"));
    }
    return;
  }
  if (run.step != KubeRun::Step::kClaim) return;
  std::vector<std::string> uids;
  for (const KubeMember& member : run.members) uids.push_back(member.uid);
  if (ends_.LosesPod(job, uids)) return;
  if (book_.now() < run.since + kClaimWithin) return;
  ends_.Refuse(
      job, fmt::format("the claim of its GPUs was not taken within {:g} s; another server, or the "
                       "node itself, changed the node meanwhile",
                       kClaimWithin.value));
}

// By whoever: the node's own controller where it was lost, else a user. One pod of a group may be
// made again by its owner, which has its place then.
void KubeRunSteps::WithdrawDeleted(const KubeRun& run) {
  const auto found = book_.groups().find(run.request.id.job);
  if (run.wanted != WantedRun::kNothing || found == book_.groups().end()) return;
  const bool made_again = run.members.size() > 1 && !found->second.owner.uid.empty();
  const auto is_deleted = [&](const KubeMember& member) {
    const KubePod* pod = book_.PodOf(member);
    return (pod == nullptr || pod->deleting) && !nodes_.IsLost(member.node);
  };
  const auto begin = run.members.begin(), end = run.members.end();
  if (made_again ? !std::all_of(begin, end, is_deleted) : std::none_of(begin, end, is_deleted)) {
    return;
  }
  ends_.Withdraw(found->second, run.request.id, "its pod was deleted in Kubernetes");
}

// Of a group that asks for it: where one has failed, the others leave, and whoever made them makes
// all of them again. Where none runs any more it has simply failed.
void KubeRunSteps::RestartAll(KubeRun& run) {
  const auto found = book_.groups().find(run.request.id.job);
  if (run.wanted != WantedRun::kNothing || found == book_.groups().end()) return;
  const KubePodGroup& pod_group = found->second;
  if (pod_group.words.restart != GroupRestart::kAll || pod_group.group.empty() ||
      pod_group.owner.uid.empty() || pod_group.withdrawn || AllOver(run) ||
      !HasFailedMember(book_, run)) {
    return;
  }
  run.wanted = WantedRun::kStop;
  const std::string words = fmt::format(
      "a pod of its group has failed, so the others are evicted, and {} {} is to make all of them "
      "again (the annotation sharewell.io/restart is \"all\")",
      pod_group.owner.kind, core::Quoted(pod_group.owner.name));
  book_.Emit(RunNote{run.request.id, words});
  for (const KubeMember& member : run.members) {
    const KubePod* pod = book_.PodOf(member);
    if (pod != nullptr && !pod->IsOver()) notices_.Queue(*pod, {"Evicted", words, true});
  }
}

// Its kubelet starts it again and again, ever more seldom. Nobody knows whether the next start is
// the good one, so its place is not taken from it.
void KubeRunSteps::TellCrashing(KubeRun& run, const KubePod& pod) {
  if (std::exchange(run.told_crashing, true)) return;
  const std::string words = fmt::format(
      "a container of pod {} ends again and again ({}); it keeps its GPU meanwhile: `kubectl logs "
      "{} -n {} --previous` shows why, and `kubectl delete` of the pod or of its owner gives the "
      "GPU back",
      pod.Name(), pod.waiting, pod.name, pod.name_space);
  book_.Emit(RunNote{run.request.id, words});
  notices_.Queue(pod, {"CrashLoop", words, true});
}

void KubeRunSteps::AdvanceBound(std::int64_t job) {
  KubeRun& run = book_.runs().at(job);
  binder_.AdvanceJoins(run);
  bool all_begun = true;
  std::string stuck;
  for (const KubeMember& member : run.members) {
    const KubePod* pod = book_.PodOf(member);
    const KubePod* seen = pod != nullptr ? pod : member.last ? &*member.last : nullptr;
    const bool begun = seen != nullptr && seen->phase != KubePhase::kPending;
    all_begun = all_begun && begun;
    if (pod == nullptr || pod->deleting) continue;
    if (!pod->waiting.empty() && !begun) stuck = pod->waiting;
    if (pod->crash_loops && begun) TellCrashing(run, *pod);
  }
  WithdrawDeleted(run);
  RestartAll(run);
  if (all_begun && !run.members.empty()) {
    EmitStarted(run);
    run.step = KubeRun::Step::kRunning;
  }
  if (AllOver(run)) return ends_.End(job, EndOf(run));
  if (!stuck.empty() && run.wanted == WantedRun::kNothing &&
      std::exchange(run.stuck, stuck) != stuck) {
    book_.Emit(RunNote{run.request.id, "it does not begin: " + stuck});
  }
}

void KubeRunSteps::Advance() {
  std::vector<std::int64_t> all;
  for (const auto& [job, run] : book_.runs()) all.push_back(job);
  for (const std::int64_t job : all) {
    const KubeRun::Step step = book_.runs().at(job).step;
    if (step == KubeRun::Step::kPlace || step == KubeRun::Step::kClaim) AdvanceBefore(job);
    if (step == KubeRun::Step::kBind) binder_.Advance(job);
    const auto run = book_.runs().find(job);
    if (run != book_.runs().end() && run->second.step >= KubeRun::Step::kBound) AdvanceBound(job);
  }
}

void KubeRunSteps::SendStops() {
  for (auto& [job, run] : book_.runs()) {
    if (run.wanted == WantedRun::kNothing || run.step == KubeRun::Step::kBind) continue;
    if (run.step < KubeRun::Step::kBound) {  // Cancel: it waits, and is to go
      book_.cancel_waiting().erase(job);
      const auto pod_group = book_.groups().find(job);
      if (pod_group == book_.groups().end() || !MayCancel(pod_group->second)) continue;
      for (const std::string& uid : pod_group->second.members) {
        const auto pod = book_.pods().find(uid);
        if (pod == book_.pods().end() || pod->second.deleting) continue;
        outbox_.Put(DeleteRequest(pod->second));
        ++outbox_.written().deletes;
      }
      continue;
    }
    for (std::size_t i = 0; i < run.members.size(); ++i) {
      KubeMember& member = run.members[i];
      const KubePod* pod = book_.PodOf(member);
      if (pod == nullptr || pod->IsOver() || pod->node.empty()) continue;
      if (pod->deleting) continue;
      if (member.asked && book_.now() < *member.asked + book_.options().again_after) continue;
      member.asked = book_.now();
      member.kept = false;
      const bool evict = run.wanted == WantedRun::kStop;
      ++(evict ? outbox_.written().evictions : outbox_.written().deletes);
      outbox_.Put(evict ? EvictRequest(*pod, newest_eviction_) : DeleteRequest(*pod),
                  [this, number = job, i](const auto& request, const auto& answer) {
                    TakeStopAnswer(request, number, i, answer);
                  });
    }
  }
}

void KubeRunSteps::TakeStopAnswer(const KubeRequest& request, std::int64_t job, std::size_t index,
                                  const core::Result<KubeAnswer>& answer) {
  const auto found = book_.runs().find(job);
  if (found == book_.runs().end()) return;
  KubeRun& run = found->second;
  KubeMember& member = run.members[index];
  if (!answer) {
    member.asked = book_.now() - book_.options().again_after +
                   book_.options().write_again;  // it may not have arrived
    return;
  }
  const int status = answer->status;
  if (status < 300 || status == 404 || status == 409) return;
  // Before 1.22 the version is not known: 400, as the body's kind is not registered.
  if ((status == 400 || status == 415) && newest_eviction_ && run.wanted == WantedRun::kStop) {
    newest_eviction_ = false;
    outbox_.AskForMore();
  }
  if (!newest_eviction_ && status == 400) {
    member.asked.reset();
    return;
  }
  const std::string words = RefusedInWords(request, *answer);
  // A server that has too much to do says 429 as well, and 500 is said of a pod with two budgets.
  const bool budget = words.find("disruption budget") != std::string::npos ||
                      words.find("DisruptionBudget") != std::string::npos;
  const std::string told =
      budget ? "it is to leave its place, and a PodDisruptionBudget does not allow it: " + words
             : "it is to leave its place, and the API server refuses: " + words;
  if (run.wanted == WantedRun::kStop && (budget || status == 403)) {
    member.kept = true;
    return KeepRun(run, told);
  }
  if (std::exchange(run.stuck, told) == told) return;
  book_.Emit(RunNote{run.request.id, told});
}

// Who decides may choose another one. Of several pods some may be on their way out already: then
// the others are to follow them.
void KubeRunSteps::KeepRun(KubeRun& run, const std::string& why) {
  const bool all = std::all_of(run.members.begin(), run.members.end(),
                               [](const KubeMember& member) { return member.kept; });
  if (!all) {
    if (std::exchange(run.stuck, why) != why) book_.Emit(RunNote{run.request.id, why});
    return;
  }
  run.wanted = WantedRun::kNothing;
  run.stuck.clear();
  for (KubeMember& member : run.members) {
    member.kept = false;
    member.asked.reset();
  }
  book_.Emit(StopRefused{run.request.id, why});
}

// Not again so soon.
bool KubeRunSteps::MayCancel(KubePodGroup& pod_group) const {
  auto& asked = pod_group.cancel_asked;
  if (asked && book_.now() < *asked + book_.options().again_after) return false;
  asked = book_.now();
  return true;
}

// Jobs that are over and still have a pod that waits.
void KubeRunSteps::SendCancels() {
  std::size_t count = 0;
  for (auto job = book_.cancel_waiting().begin(); job != book_.cancel_waiting().end();) {
    const auto pod_group = book_.groups().find(*job);
    if (pod_group == book_.groups().end() || book_.runs().contains(*job)) {
      job = book_.cancel_waiting().erase(job);
      continue;
    }
    if (count < kMostDeletesAtOnce && MayCancel(pod_group->second)) {
      for (const std::string& uid : pod_group->second.members) {
        const auto pod = book_.pods().find(uid);
        // One that somebody bound meanwhile is not ours to delete.
        if (pod == book_.pods().end() || !pod->second.node.empty()) continue;
        outbox_.Put(DeleteRequest(pod->second));
        ++outbox_.written().deletes;
        ++count;
      }
    }
    ++job;
  }
}

// Agents name a GPU by its number on the node, which is its place in the node's list.
void KubeRunSteps::EmitSteps() {
  if (!book_.options().steps ||
      (steps_asked_ && book_.now() < *steps_asked_ + book_.options().steps_every))
    return;
  steps_asked_ = book_.now();
  std::map<std::int64_t, WatchedRun> running;
  for (const auto& [job, run] : book_.runs()) {
    if (run.step != KubeRun::Step::kRunning) continue;
    WatchedRun& one = running[job];
    for (const KubeMember& member : run.members) {
      one.nodes.push_back(member.node);
      one.names.push_back("pod/" + member.uid);  // of this attempt alone
      const auto here = book_.nodes().find(member.node);
      if (here == book_.nodes().end()) continue;
      for (const std::string& uuid : member.claim.gpus) {
        const auto number = here->second.numbers.find(uuid);
        if (number == here->second.numbers.end()) continue;
        one.gpus[uuid] = fmt::format("{}/{}", member.node, number->second);
      }
    }
  }
  EmitNewSteps(book_.options().steps(running), book_.runs(), book_.out());
}

}  // namespace sharewell::engine
