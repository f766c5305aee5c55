// How a run is watched and ended, and how what an earlier server started is found again.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_control.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kClaimWithin(15);  // as long as a pod may be bound after it

}  // namespace

const KubePod* KubeControl::PodOf(const Member& member) const {
  const auto found = pods_.find(member.uid);
  return found == pods_.end() ? nullptr : &found->second;
}

std::string KubeControl::NameOf(const Run& run) const {
  const auto pod_group = pod_groups_.find(run.request.id.job);
  return pod_group == pod_groups_.end() ? fmt::format("job {}", run.request.id.job)
                                        : pod_group->second.name;
}

void KubeControl::EmitStarted(Run& run) {
  if (std::exchange(run.told_started, true)) return;
  Emit(RunStarted{run.request.id});
}

// Its pods wait on.
void KubeControl::Refuse(std::int64_t job, std::string why) {
  const auto found = runs_.find(job);
  const RunId id = found->second.request.id;
  const Wanted wanted = found->second.wanted;
  // Where a binding may be under way, its claim rests.
  for (const Member& member : found->second.members) {
    if (!found->second.bind_sent) Free(member);
    TouchNode(member.node);
  }
  runs_.erase(found);
  dirty_.insert(job);
  if (wanted == Wanted::kNothing) return Emit(StartRefused{id, std::move(why)});
  Emit(RunEnded{id, ended_[id] = StoppedEnd("it was stopped before it began")});
}

// Its pods are over or gone.
void KubeControl::EndRun(std::int64_t job, RunEnd end) {
  const Run run = std::move(runs_.at(job));
  runs_.erase(job);
  for (const Member& member : run.members) {
    Free(member);
    TouchNode(member.node);
  }
  if (const auto found = pod_groups_.find(job); found != pod_groups_.end()) {
    PodGroup& pod_group = found->second;
    const bool left = run.wanted == Wanted::kStop || end.lost;
    const bool again = left && (end.stopped || end.lost) && !pod_group.withdrawn;
    if (again && !pod_group.owner.uid.empty()) {
      AwaitOwner(pod_group);
      pod_group.terms = TermsOf(pod_group);
      Emit(TermsChanged{job, *pod_group.terms});
    } else {
      if (again)
        Withdraw(pod_group, run.request.id, "it was evicted, and nothing makes its pod again");
      DropPodGroup(job);
    }
  }
  ended_[run.request.id] = end;
  Emit(RunEnded{run.request.id, std::move(end)});
}

// It runs on without us.
void KubeControl::TakeOver(std::int64_t job, const std::string& how) {
  if (const auto pod_group = pod_groups_.find(job); pod_group != pod_groups_.end()) {
    Withdraw(pod_group->second, runs_.at(job).request.id, how + ": it runs without Sharewell");
  }
  runs_.at(job).wanted = Wanted::kNothing;
  EndRun(job, StoppedEnd(how));
}

bool KubeControl::AllOver(const Run& run) const {
  return std::all_of(run.members.begin(), run.members.end(), [&](const Member& member) {
    const KubePod* pod = PodOf(member);
    return pod == nullptr || pod->IsOver() || pod->node.empty();
  });
}

RunEnd KubeControl::EndOf(const Run& run) const {
  RunEnd end;
  for (const Member& member : run.members) {
    const KubePod* pod = PodOf(member);
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
      end.stopped = run.wanted != Wanted::kNothing;
      continue;
    }
    end = StoppedEnd(run.wanted == Wanted::kNothing ? "its pod was deleted in Kubernetes" : "");
    end.lost = run.wanted != Wanted::kCancel && IsLost(member.node);
    if (end.lost) end.message = fmt::format("node {} was lost", member.node);
  }
  if (run.wanted == Wanted::kStop && end.stopped && !run.refused.empty()) end.message = run.refused;
  return end;
}

// Of a run that is not bound: a pod was deleted, or bound by somebody else, who runs it then.
bool KubeControl::LosesPod(std::int64_t job, const std::vector<std::string>& uids) {
  bool deleted = false;
  for (const std::string& uid : uids) {
    const auto pod = pods_.find(uid);
    if (pod != pods_.end() && !pod->second.node.empty()) {
      TakeOver(job, fmt::format("somebody else bound pod {} to node {}",
                                core::Quoted(pod->second.Name()), core::Quoted(pod->second.node)));
      return true;
    }
    deleted = deleted || pod == pods_.end() || pod->second.deleting;
  }
  if (deleted) Refuse(job, "its pod was deleted");
  return deleted;
}

// Before it is bound.
void KubeControl::AdvanceBefore(std::int64_t job) {
  Run& run = runs_.at(job);
  if (run.wanted == Wanted::kStop) return Refuse(job, {});
  const auto pod_group = pod_groups_.find(job);
  if (run.wanted == Wanted::kCancel) {
    const auto is_gone = [&](const std::string& uid) { return !pods_.contains(uid); };
    if (pod_group == pod_groups_.end() ||
        std::all_of(pod_group->second.members.begin(), pod_group->second.members.end(), is_gone)) {
      EndRun(job, StoppedEnd("it was cancelled before it began"));
    }
    return;
  }
  if (run.step != Step::kClaim) return;
  std::vector<std::string> uids;
  for (const Member& member : run.members) uids.push_back(member.uid);
  if (LosesPod(job, uids)) return;
  if (now_ < run.since + kClaimWithin) return;
  Refuse(job,
         fmt::format("the claim of its GPUs was not taken within {:g} s; another server, or the "
                     "node itself, changed the node meanwhile",
                     kClaimWithin.value));
}

void KubeControl::AdvanceBound(std::int64_t job) {
  Run& run = runs_.at(job);
  const auto pod_group = pod_groups_.find(job);
  bool all_begun = true;
  std::string stuck;
  for (const Member& member : run.members) {
    const KubePod* pod = PodOf(member);
    const KubePod* seen = pod != nullptr ? pod : member.last ? &*member.last : nullptr;
    const bool begun = seen != nullptr && seen->phase != KubePhase::kPending;
    all_begun = all_begun && begun;
    if (pod == nullptr || pod->deleting) {
      // By whoever: the node's own controller where it was lost, else a user.
      if (run.wanted == Wanted::kNothing && !IsLost(member.node) &&
          pod_group != pod_groups_.end()) {
        Withdraw(pod_group->second, run.request.id, "its pod was deleted in Kubernetes");
      }
      continue;
    }
    if (!pod->waiting.empty() && !begun) stuck = pod->waiting;
  }
  if (all_begun && !run.members.empty()) {
    EmitStarted(run);
    run.step = Step::kRunning;
  }
  if (AllOver(run)) return EndRun(job, EndOf(run));
  if (!stuck.empty() && run.wanted == Wanted::kNothing &&
      std::exchange(run.stuck, stuck) != stuck) {
    Emit(RunNote{run.request.id, "it does not begin: " + stuck});
  }
}

void KubeControl::AdvanceRuns() {
  std::vector<std::int64_t> all;
  for (const auto& [job, run] : runs_) all.push_back(job);
  for (const std::int64_t job : all) {
    const Step step = runs_.at(job).step;
    if (step == Step::kPlace || step == Step::kClaim) AdvanceBefore(job);
    if (step == Step::kBind) AdvanceBinding(job);
    const auto run = runs_.find(job);
    if (run != runs_.end() && run->second.step >= Step::kBound) AdvanceBound(job);
  }
}

void KubeControl::SendStops() {
  for (auto& [job, run] : runs_) {
    if (run.wanted == Wanted::kNothing || run.step == Step::kBind) continue;
    if (run.step < Step::kBound) {  // Cancel: it waits, and is to go
      cancel_waiting_.erase(job);
      const auto pod_group = pod_groups_.find(job);
      const auto asked = cancel_asked_.find(job);
      if (pod_group == pod_groups_.end()) continue;
      if (asked != cancel_asked_.end() && now_ < asked->second + options_.again_after) continue;
      cancel_asked_[job] = now_;
      for (const std::string& uid : pod_group->second.members) {
        const auto pod = pods_.find(uid);
        if (pod == pods_.end() || pod->second.deleting) continue;
        Put(DeleteRequest(pod->second));
        ++written_.deletes;
      }
      continue;
    }
    for (std::size_t i = 0; i < run.members.size(); ++i) {
      Member& member = run.members[i];
      const KubePod* pod = PodOf(member);
      if (pod == nullptr || pod->IsOver() || pod->node.empty()) continue;
      if (pod->deleting) continue;
      if (member.asked && now_ < *member.asked + options_.again_after) continue;
      member.asked = now_;
      member.kept = false;
      const bool evict = run.wanted == Wanted::kStop;
      ++(evict ? written_.evictions : written_.deletes);
      Put(evict ? EvictRequest(*pod, newest_eviction_) : DeleteRequest(*pod),
          [this, number = job, i](const auto& request, const auto& answer) {
            TakeStopAnswer(request, number, i, answer);
          });
    }
  }
}

void KubeControl::TakeStopAnswer(const KubeRequest& request, std::int64_t job, std::size_t index,
                                 const core::Result<KubeAnswer>& answer) {
  const auto found = runs_.find(job);
  if (found == runs_.end()) return;
  Run& run = found->second;
  Member& member = run.members[index];
  if (!answer) {
    member.asked = now_ - options_.again_after + options_.write_again;  // it may not have arrived
    return;
  }
  const int status = answer->status;
  if (status < 300 || status == 404 || status == 409) return;
  // Before 1.22 the version is not known: 400, as the body's kind is not registered.
  if ((status == 400 || status == 415) && newest_eviction_ && run.wanted == Wanted::kStop) {
    newest_eviction_ = false;
    more_ = true;
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
  if (run.wanted == Wanted::kStop && (budget || status == 403)) {
    member.kept = true;
    return KeepRun(run, told);
  }
  if (std::exchange(run.stuck, told) == told) return;
  Emit(RunNote{run.request.id, told});
}

// Who decides may choose another one. Of several pods some may be on their way out already: then
// the others are to follow them.
void KubeControl::KeepRun(Run& run, const std::string& why) {
  const bool all = std::all_of(run.members.begin(), run.members.end(),
                               [](const Member& member) { return member.kept; });
  if (!all) {
    if (std::exchange(run.stuck, why) != why) Emit(RunNote{run.request.id, why});
    return;
  }
  run.wanted = Wanted::kNothing;
  run.stuck.clear();
  for (Member& member : run.members) {
    member.kept = false;
    member.asked.reset();
  }
  Emit(StopRefused{run.request.id, why});
}

// By the claims, which users cannot write. Pods that are bound without one are strangers.
std::vector<RunRequest> KubeControl::Recover() {
  std::map<RunId, Run> found;
  for (const auto& [name, here] : nodes_) {
    for (const auto& [uid, claim] : here.claims) {
      const auto pod = pods_.find(uid);
      if (pod == pods_.end() || pod->second.node != name || !IsOurs(pod->second)) continue;
      Run& run = found[{claim.job, claim.attempt}];
      Member member;
      member.uid = uid;
      member.node = name;
      member.claim = claim;
      run.members.push_back(std::move(member));
    }
  }
  std::vector<RunRequest> requests;
  for (auto& [id, run] : found) {
    std::sort(run.members.begin(), run.members.end(), [&](const Member& a, const Member& b) {
      return pods_.at(a.uid).name < pods_.at(b.uid).name;
    });
    const KubePod& first = pods_.at(run.members.front().uid);
    const PodWords words = ParsePodWords(first);
    const ForeignJob foreign = SubmissionOf(first, words, static_cast<int>(run.members.size()));
    RunRequest& request = run.request;
    request.id = id;
    request.user = foreign.user;
    request.asked = foreign.asked;
    request.terms = foreign.terms;
    for (const Member& member : run.members) {
      const KubeClaim& claim = member.claim;
      auto& nodes = request.nodes;
      if (std::find(nodes.begin(), nodes.end(), member.node) == nodes.end()) {
        nodes.push_back(member.node);
      }
      for (const std::string& uuid : claim.gpus) {
        request.gpus.push_back(GpuNamed(uuid));
      }
      request.cores += claim.cores;
      request.shares = claim.shares;
      if (claim.sm_percent < 100) request.thread_share = claim.sm_percent / 100.0;
      const core::Bytes memory(static_cast<double>(claim.memory_mib.value_or(0)) * (1 << 20));
      if (claim.limited) request.gpu_memory = memory;
      if (claim.guest) request.guest_memory = memory;
      if (!claim.limited && claim.memory_mib) request.expected_memory = memory;
    }
    if (runs_.contains(id.job) || pod_groups_.contains(id.job)) continue;
    PodGroup& pod_group = pod_groups_[id.job];
    pod_group.number = id.job;
    pod_group.told = true;
    pod_group.words = words;
    pod_group.owner = first.owner;
    pod_group.group = words.group.empty() ? "" : first.name_space + "/" + words.group;
    pod_group.name = pod_group.group.empty() ? first.Name() : pod_group.group;
    for (const Member& member : run.members) {
      pod_group.members.push_back(member.uid);
      pod_group_of_[member.uid] = id.job;
      joins_.erase(member.uid);
    }
    run.step = Step::kBound;
    run.bind_sent = true;
    requests.push_back(request);
    runs_.emplace(id.job, std::move(run));
  }
  return requests;
}

}  // namespace sharewell::engine
