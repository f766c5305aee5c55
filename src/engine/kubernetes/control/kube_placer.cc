#include "engine/kubernetes/control/kube_placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_fit.h"
#include "engine/kubernetes/control/kube_stock.h"

namespace sharewell::engine {

KubeClaim KubePlacer::ClaimOf(const RunRequest& request, std::vector<std::string> gpus,
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
std::string KubePlacer::SplitGpus(const KubeRun& run, const KubePodGroup& pod_group,
                                  std::vector<KubeMember>& members) const {
  const RunRequest& request = run.request;
  const std::size_t pods = pod_group.members.size();
  const auto each = static_cast<std::size_t>(pod_group.words.gpus);
  std::size_t next = 0;
  const auto give = [&](const std::string& node, std::vector<std::string> gpus) {
    KubeMember member;
    member.uid = pod_group.members[next++];
    member.node = node;
    member.claim = ClaimOf(request, std::move(gpus), pods);
    members.push_back(std::move(member));
  };
  if (each == 0) {
    while (next < pods && !request.nodes.empty()) give(request.nodes.front(), {});
  }
  for (const std::string& name : request.nodes) {
    const auto here = book_.nodes().find(name);
    if (here == book_.nodes().end() || each == 0) continue;
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

// By all pods that are bound there, and by those of ours that are about to be.
KubeAmounts KubePlacer::UsedOn(const std::string& node, const KubeMembersByNode& members) const {
  KubeAmounts used;
  std::int64_t pods = 0;
  if (const auto there = pods_.on_node().find(node); there != pods_.on_node().end()) {
    for (const std::string& uid : there->second) {
      AddAmounts(book_.pods().at(uid).requests, used);
      ++pods;
    }
  }
  if (const auto comes = members.find(node); comes != members.end()) {
    for (const KubeMember* member : comes->second) {
      const auto pod = book_.pods().find(member->uid);
      if (pod == book_.pods().end() || !pod->second.node.empty()) continue;
      AddAmounts(pod->second.requests, used);
      ++pods;
    }
  }
  used["pods"] = pods;
  return used;
}

// Empty: it can be claimed there.
std::string KubePlacer::WhyNotHere(const KubeMember& member, const KubeMembersByNode& placed) {
  const auto found = book_.nodes().find(member.node);
  if (found == book_.nodes().end() || !found->second.told_up || !found->second.kube.ready) {
    return fmt::format("node {} is not ready", core::Quoted(member.node));
  }
  KubeNodeHere& here = found->second;
  if (!here.bad_claims.empty()) return fmt::format("node {}: {}", member.node, here.bad_claims);
  if (here.kube.cordoned) return fmt::format("node {} is cordoned", member.node);
  if (!member.claim.gpus.empty()) {
    if (std::string why = WhoHasStock(book_, pods_, here.kube); !why.empty()) return why;
  }
  for (const std::string& gpu : member.claim.gpus) {
    if (!here.unlisted.contains(gpu)) continue;
    return fmt::format("the annotation sharewell.io/gpus of node {} does not list GPU {}",
                       member.node, gpu);
  }
  const KubePod& pod = book_.pods().at(member.uid);
  if (std::string why = WhyNotOn(pod, here.kube); !why.empty()) {
    return fmt::format("node {}: {}", member.node, why);
  }
  if (!volumes_.Allow(pod, here.kube))
    return fmt::format("node {} has not its volume", member.node);
  KubeAmounts wanted = pod.requests;
  if (here.kube.allocatable.contains("pods")) wanted["pods"] = 1;
  if (std::string why = WhyNoRoom(wanted, UsedOn(member.node, placed), here.kube); !why.empty()) {
    return why;
  }
  KubeClaims others = claimer_.WantedClaims(here, placed);
  others.erase(member.uid);
  return WhyNotClaimed(others, member.claim, here.node.gpu_memory);
}

// False: it was refused, has ended, or waits.
bool KubePlacer::PlaceOne(KubeRun& run, KubeMembersByNode& placed) {
  const std::int64_t job = run.request.id.job;
  const auto found = book_.groups().find(job);
  if (found == book_.groups().end()) {
    book_.Emit(JobWithdrawn{job, "Kubernetes has no such pod"});
    RunEnd end;
    end.stopped = true;
    end.exit_code = 143;
    end.signal = 15;
    ends_.End(job, std::move(end));
    return false;
  }
  if (run.wanted != WantedRun::kNothing) return false;
  KubePodGroup& pod_group = found->second;
  pod_group.told = true;  // whoever starts it knows it
  if (ends_.LosesPod(job, pod_group.members)) return false;
  if (pod_group.evicted && book_.now() < run.since + book_.options().start_within)
    return false;  // its next pod comes
  if (const std::string why = terms_.WhyItWaits(pod_group); !why.empty()) {
    ends_.Refuse(job, why);
    return false;
  }
  std::vector<KubeMember> members;
  std::string why = SplitGpus(run, pod_group, members);
  for (const KubeMember& member : members) {
    if (why.empty()) why = WhyNotHere(member, placed);
    placed[member.node].push_back(&member);  // the next one of the group finds it there
  }
  for (const KubeMember& member : members) std::erase(placed[member.node], &member);
  if (!why.empty()) {
    ends_.Refuse(job, why);
    return false;
  }
  run.members = std::move(members);
  run.step = KubeRun::Step::kClaim;
  run.since = book_.now();
  for (const KubeMember& member : run.members) {
    placed[member.node].push_back(&member);
    book_.nodes().at(member.node).freed.erase(member.uid);
  }
  return true;
}

void KubePlacer::Place() {
  std::vector<std::int64_t> all;
  for (const auto& [job, run] : book_.runs()) {
    if (run.step == KubeRun::Step::kPlace) all.push_back(job);
  }
  if (all.empty()) return;
  KubeMembersByNode placed = claimer_.Placed();
  std::size_t count = 0;
  for (const std::int64_t job : all) {
    if (count >= kMostKubeStartsAtOnce) {
      outbox_.AskForMore();
      break;
    }
    if (PlaceOne(book_.runs().at(job), placed)) ++count;
  }
}

}  // namespace sharewell::engine
