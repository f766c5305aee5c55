// How a run's GPUs are claimed and its pods are bound.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_control.h"
#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr std::size_t kMostClaimedAtOnce = 500;
// So long after its claim a pod may still be bound: less than a claim of nobody rests, by more than
// a request may take.
constexpr Seconds kBindWithin(15);
constexpr Seconds kDeadClaimsRest(5);  // they go with the next one that is written there, or then

}  // namespace

// Pods that are claimed for, and not heard to have ended.
KubeControl::MembersByNode KubeControl::Placed() const {
  MembersByNode placed;
  for (const auto& [job, run] : runs_) {
    if (run.step == Step::kPlace) continue;
    for (const Member& member : run.members) placed[member.node].push_back(&member);
  }
  return placed;
}

KubeClaim KubeControl::ClaimOf(const RunRequest& request, std::vector<std::string> gpus,
                               std::size_t pods) const {
  const auto mib = [](core::Bytes bytes) {
    return static_cast<std::int64_t>(std::ceil(std::max(bytes.value, 0.0) / (1 << 20)));
  };
  KubeClaim claim;
  claim.job = request.id.job;
  claim.attempt = request.id.attempt;
  claim.gpus = std::move(gpus);
  claim.cores = request.cores / static_cast<double>(std::max<std::size_t>(pods, 1));
  if (claim.gpus.empty()) return claim;
  claim.shares = request.shares;
  if (request.thread_share) {
    claim.sm_percent =
        std::clamp(static_cast<int>(std::lround(*request.thread_share * 100)), 1, 100);
  }
  if (request.gpu_memory) {
    claim.memory_mib = mib(*request.gpu_memory);
    claim.limited = true;
    claim.guest = request.guest_memory.has_value();
  } else if (request.expected_memory) {
    claim.memory_mib = mib(*request.expected_memory);
  }
  return claim;
}

// Which pod gets which GPUs; a reason where they cannot be shared out.
std::string KubeControl::SplitGpus(const Run& run, const PodGroup& pod_group,
                                   std::vector<Member>& members) const {
  const RunRequest& request = run.request;
  const std::size_t pods = pod_group.members.size();
  const auto each = static_cast<std::size_t>(pod_group.words.gpus);
  std::size_t next = 0;
  const auto give = [&](const std::string& node, std::vector<std::string> gpus) {
    Member member;
    member.uid = pod_group.members[next++];
    member.node = node;
    member.claim = ClaimOf(request, std::move(gpus), pods);
    members.push_back(std::move(member));
  };
  if (each == 0) {
    while (next < pods && !request.nodes.empty()) give(request.nodes.front(), {});
  }
  for (const std::string& name : request.nodes) {
    const auto here = nodes_.find(name);
    if (here == nodes_.end() || each == 0) continue;
    std::vector<std::string> gpus;
    for (const core::GivenGpu& gpu : request.gpus) {
      const auto same = [&](const core::GivenGpu& one) { return one.uuid == gpu.uuid; };
      const auto& there = here->second.node.gpus;
      if (std::any_of(there.begin(), there.end(), same)) gpus.push_back(gpu.uuid);
    }
    for (std::size_t i = 0; i + each <= gpus.size() && next < pods; i += each) {
      const auto first = gpus.begin() + static_cast<std::ptrdiff_t>(i);
      give(name, {first, first + static_cast<std::ptrdiff_t>(each)});
    }
  }
  if (next == pods && request.gpus.size() == each * pods) return {};
  return fmt::format("{} GPUs on {} nodes cannot be shared out to {} pods of {} each",
                     request.gpus.size(), request.nodes.size(), pods, each);
}

// The claims that nobody needs any more. Those of a pod that is not bound may still be needed by
// another server that is about to bind it: they rest first.
bool KubeControl::IsDead(NodeHere& here, const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod != pods_.end() && pod->second.IsOver()) return true;
  if (pod != pods_.end() && pod->second.node == here.kube.name) {  // whoever bound it
    here.resting.erase(uid);
    return false;
  }
  const auto freed = here.freed.find(uid), shown = here.claims.find(uid);
  if (freed != here.freed.end() && shown != here.claims.end() && freed->second == shown->second) {
    return true;
  }
  const Seconds since = here.resting.try_emplace(uid, now_).first->second;
  return now_ >= since + options_.claim_rests;
}

// Of this node alone: another server may have claimed elsewhere for the same pod.
void KubeControl::Free(const Member& member) {
  const auto here = nodes_.find(member.node);
  if (here != nodes_.end()) here->second.freed[member.uid] = member.claim;
}

// Whether another server, or an earlier start of ours whose binding may be under way, has a claim
// there for the same pod: it is not written over.
bool KubeControl::IsOthers(NodeHere& here, const Member& member) {
  const auto shown = here.claims.find(member.uid);
  if (shown == here.claims.end() || shown->second == member.claim) return false;
  const KubePod* pod = PodOf(member);
  return pod != nullptr && pod->node.empty() && !IsDead(here, member.uid);
}

// What should stand there.
KubeClaims KubeControl::WantedClaims(NodeHere& here, const MembersByNode& placed) {
  KubeClaims wanted;
  if (const auto ours = placed.find(here.kube.name); ours != placed.end()) {
    for (const Member* member : ours->second) {
      const bool others = IsOthers(here, *member);
      wanted.emplace(member->uid, others ? here.claims.at(member->uid) : member->claim);
    }
  }
  for (const auto& [uid, claim] : here.claims) {
    if (!wanted.contains(uid) && !IsDead(here, uid)) wanted.emplace(uid, claim);
  }
  return wanted;
}

// Empty: it can be claimed there.
std::string KubeControl::WhyNotHere(const Member& member, const MembersByNode& placed) {
  const auto found = nodes_.find(member.node);
  if (found == nodes_.end() || !found->second.told_up || !found->second.kube.ready) {
    return fmt::format("node {} is not ready", core::Quoted(member.node));
  }
  NodeHere& here = found->second;
  if (!here.bad_claims.empty()) return fmt::format("node {}: {}", member.node, here.bad_claims);
  if (here.kube.cordoned) return fmt::format("node {} is cordoned", member.node);
  const KubePod& pod = pods_.at(member.uid);
  if (std::string why = WhyNotOn(pod, here.kube); !why.empty()) {
    return fmt::format("node {}: {}", member.node, why);
  }
  if (!VolumesAllow(pod, here.kube)) return fmt::format("node {} has not its volume", member.node);
  KubeAmounts wanted = pod.requests;
  if (here.kube.allocatable.contains("pods")) wanted["pods"] = 1;
  if (std::string why = WhyNoRoom(wanted, UsedOn(member.node, placed), here.kube); !why.empty()) {
    return why;
  }
  KubeClaims others = WantedClaims(here, placed);
  others.erase(member.uid);
  return WhyNotClaimed(others, member.claim, here.node.gpu_memory);
}

// False: it was refused, has ended, or waits.
bool KubeControl::PlaceOne(Run& run, MembersByNode& placed) {
  const std::int64_t job = run.request.id.job;
  const auto found = pod_groups_.find(job);
  if (found == pod_groups_.end()) {
    Emit(JobWithdrawn{job, "Kubernetes has no such pod"});
    RunEnd end;
    end.stopped = true;
    end.exit_code = 143;
    end.signal = 15;
    EndRun(job, std::move(end));
    return false;
  }
  if (run.wanted != Wanted::kNothing) return false;
  PodGroup& pod_group = found->second;
  pod_group.told = true;  // whoever starts it knows it
  if (LosesPod(job, pod_group.members)) return false;
  if (pod_group.evicted && now_ < run.since + options_.start_within)
    return false;  // its next pod comes
  if (const std::string why = WhyItWaits(pod_group); !why.empty()) {
    Refuse(job, why);
    return false;
  }
  std::vector<Member> members;
  std::string why = SplitGpus(run, pod_group, members);
  for (const Member& member : members) {
    if (why.empty()) why = WhyNotHere(member, placed);
    placed[member.node].push_back(&member);  // the next one of the group finds it there
  }
  for (const Member& member : members) std::erase(placed[member.node], &member);
  if (!why.empty()) {
    Refuse(job, why);
    return false;
  }
  run.members = std::move(members);
  run.step = Step::kClaim;
  run.since = now_;
  for (const Member& member : run.members) {
    placed[member.node].push_back(&member);
    nodes_.at(member.node).freed.erase(member.uid);
  }
  return true;
}

void KubeControl::Place() {
  if (!leads_) return;
  std::vector<std::int64_t> all;
  for (const auto& [job, run] : runs_) {
    if (run.step == Step::kPlace) all.push_back(job);
  }
  if (all.empty()) return;
  MembersByNode placed = Placed();
  std::size_t count = 0;
  for (const std::int64_t job : all) {
    if (count >= kMostClaimedAtOnce) {
      more_ = true;
      break;
    }
    if (PlaceOne(runs_.at(job), placed)) ++count;
  }
}

// Another server may have claimed there since: what it has shows with the conflict.
void KubeControl::GiveUpLostClaims() {
  if (std::none_of(runs_.begin(), runs_.end(),
                   [](const auto& one) { return one.second.step == Step::kClaim; })) {
    return;
  }
  const MembersByNode placed = Placed();
  std::vector<std::pair<std::int64_t, std::string>> lost;
  for (const auto& [job, run] : runs_) {
    if (run.step != Step::kClaim) continue;
    for (const Member& member : run.members) {
      const auto here = nodes_.find(member.node);
      if (here == nodes_.end()) continue;
      if (IsOthers(here->second, member)) {
        lost.emplace_back(job, "another server, or an earlier start, has a claim for its pod");
        break;
      }
      if (here->second.claims.contains(member.uid)) continue;
      KubeClaims others = WantedClaims(here->second, placed);
      others.erase(member.uid);
      std::string why = WhyNotClaimed(others, member.claim, here->second.node.gpu_memory);
      if (why.empty()) continue;
      lost.emplace_back(job, std::move(why));
      break;
    }
  }
  for (auto& [job, why] : lost) Refuse(job, std::move(why));
}

void KubeControl::SendClaims() {
  GiveUpLostClaims();
  const MembersByNode placed = Placed();
  for (auto& [name, here] : nodes_) {
    if (!here.there || !here.bad_claims.empty()) continue;
    if (here.claims.empty() && !placed.contains(name)) continue;
    const KubeClaims wanted = WantedClaims(here, placed);
    if (wanted == here.claims) {
      here.dead_since.reset();
      continue;
    }
    const KubeClaims& claims = here.claims;
    const bool adds = std::any_of(wanted.begin(), wanted.end(), [&](const auto& one) {
      const auto shown = claims.find(one.first);
      return shown == claims.end() || shown->second != one.second;
    });
    if (!here.dead_since) here.dead_since = now_;
    if (!adds && now_ < *here.dead_since + kDeadClaimsRest) continue;
    // Asked for already, and the API server has not shown anything since.
    if (here.asked && here.asked_version == here.kube.version &&
        now_ < *here.asked + options_.write_again) {
      continue;
    }
    here.asked = now_;
    here.asked_version = here.kube.version;
    ++written_.claims;
    Put(ClaimRequest(here.kube, wanted),
        [this, node = name](const auto& request, const auto& said) {
          TakeClaimAnswer(request, node, said);
        });
  }
}

// Nothing is taken from a success: the watch shows it. A conflict is another writer's turn.
void KubeControl::TakeClaimAnswer(const KubeRequest& request, const std::string& node,
                                  const core::Result<KubeAnswer>& answer) {
  if (!answer || answer->status < 300 || answer->status == 409 || answer->status >= 429) return;
  std::vector<std::int64_t> jobs;
  for (const auto& [job, run] : runs_) {
    const bool here = std::any_of(run.members.begin(), run.members.end(),
                                  [&](const Member& member) { return member.node == node; });
    if (run.step == Step::kClaim && here) jobs.push_back(job);
  }
  const std::string words = RefusedInWords(request, *answer);
  for (const std::int64_t job : jobs) {
    Refuse(job, fmt::format("its GPUs could not be claimed on node {}: {}", node, words));
  }
}

bool KubeControl::ClaimsAreShown(const Run& run) const {
  return std::all_of(run.members.begin(), run.members.end(), [&](const Member& member) {
    const auto here = nodes_.find(member.node);
    if (here == nodes_.end() || !here->second.there) return false;
    const auto shown = here->second.claims.find(member.uid);
    return shown != here->second.claims.end() && shown->second == member.claim;
  });
}

void KubeControl::SendBindings() {
  std::size_t count = 0;
  for (auto& [job, run] : runs_) {
    if (count >= kMostClaimedAtOnce) {
      more_ = true;
      break;
    }
    if (run.step != Step::kClaim && run.step != Step::kBind) continue;
    if (run.wanted != Wanted::kNothing && !run.bind_sent) continue;
    if (now_ >= run.since + kBindWithin || !ClaimsAreShown(run)) continue;
    run.step = Step::kBind;
    run.bind_sent = true;
    for (Member& member : run.members) {
      const KubePod* pod = PodOf(member);
      if (pod == nullptr || !pod->node.empty() || pod->deleting) continue;
      const bool changed = member.version != pod->version && !run.refused.empty();
      if (member.asked && !changed && now_ < *member.asked + options_.write_again) continue;
      member.asked = now_;
      member.version = pod->version;
      ++count;
      ++written_.bindings;
      Put(BindRequest(*pod, member.node, member.claim),
          [this, number = job](const auto& request, const auto& answer) {
            TakeBindAnswer(request, number, answer);
          });
    }
  }
}

void KubeControl::TakeBindAnswer(const KubeRequest& request, std::int64_t job,
                                 const core::Result<KubeAnswer>& answer) {
  const auto run = runs_.find(job);
  if (run == runs_.end()) return;
  if (!answer) {
    run->second.refused = answer.error().message;
  } else if (answer->status >= 300) {
    run->second.refused = RefusedInWords(request, *answer);
  }
}

// Until the API server shows all of them bound.
void KubeControl::AdvanceBinding(std::int64_t job) {
  Run& run = runs_.at(job);
  std::size_t bound = 0, gone = 0;
  for (const Member& member : run.members) {
    const KubePod* pod = PodOf(member);
    if (pod == nullptr || (pod->node.empty() && pod->deleting)) {
      ++gone;
    } else if (pod->node == member.node) {
      ++bound;
    } else if (!pod->node.empty()) {
      return TakeOver(job, fmt::format("somebody else bound pod {} to node {}",
                                       core::Quoted(pod->Name()), core::Quoted(pod->node)));
    }
  }
  if (bound == run.members.size()) {
    run.step = Step::kBound;
    run.since = now_;
    run.refused.clear();
    for (Member& member : run.members) {
      member.asked.reset();
      QueueEvent(*PodOf(member),
                 {"Scheduled",
                  fmt::format("job {}: bound to node {}{}", job, member.node,
                              member.claim.gpus.empty()
                                  ? ""
                                  : fmt::format(", GPU {}", fmt::join(member.claim.gpus, ", "))),
                  false});
    }
    return;
  }
  if (gone == run.members.size()) {
    run.step = Step::kBound;  // it was bound and has ended, or was deleted: all the same
    return;
  }
  if (now_ < run.since + options_.start_within) return;
  const std::string why =
      fmt::format("the API server did not show it bound within {:g} s{}{}",
                  options_.start_within.value, run.refused.empty() ? "" : ": ", run.refused);
  if (bound == 0 && gone == 0) return Refuse(job, why);
  // All of a group or none: those that were bound leave again.
  run.step = Step::kBound;
  run.since = now_;
  if (run.wanted == Wanted::kNothing) run.wanted = Wanted::kStop;
  run.refused = why;
  for (Member& member : run.members) member.asked.reset();
}

}  // namespace sharewell::engine
