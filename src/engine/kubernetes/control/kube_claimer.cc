#include "engine/kubernetes/control/kube_claimer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kDeadClaimsRest(5);  // they go with the next one that is written there, or then

}  // namespace

// Pods that are claimed for, and not heard to have ended.
KubeMembersByNode KubeClaimer::Placed() const {
  KubeMembersByNode placed;
  for (const auto& [job, run] : book_.runs()) {
    if (run.step == KubeRun::Step::kPlace) continue;
    for (const KubeMember& member : run.members) placed[member.node].push_back(&member);
  }
  return placed;
}

// The claims that nobody needs any more. Those of a pod that is not bound may still be needed by
// another server that is about to bind it: they rest first.
bool KubeClaimer::IsDead(KubeNodeHere& here, const std::string& uid) {
  const auto pod = book_.pods().find(uid);
  if (pod != book_.pods().end() && pod->second.IsOver()) return true;
  if (pod != book_.pods().end() && pod->second.node == here.kube.name) {  // whoever bound it
    here.resting.erase(uid);
    return false;
  }
  const auto freed = here.freed.find(uid), shown = here.claims.find(uid);
  if (freed != here.freed.end() && shown != here.claims.end() && freed->second == shown->second) {
    return true;
  }
  const Seconds since = here.resting.try_emplace(uid, book_.now()).first->second;
  return book_.now() >= since + book_.options().claim_rests;
}

// Whether another server, or an earlier start of ours whose binding may be under way, has a claim
// there for the same pod: it is not written over.
bool KubeClaimer::IsOthers(KubeNodeHere& here, const KubeMember& member) {
  const auto shown = here.claims.find(member.uid);
  if (shown == here.claims.end() || shown->second == member.claim) return false;
  const KubePod* pod = book_.PodOf(member);
  return pod != nullptr && pod->node.empty() && !IsDead(here, member.uid);
}

// What should stand there.
KubeClaims KubeClaimer::WantedClaims(KubeNodeHere& here, const KubeMembersByNode& placed) {
  KubeClaims wanted;
  if (const auto ours = placed.find(here.kube.name); ours != placed.end()) {
    for (const KubeMember* member : ours->second) {
      const bool others = IsOthers(here, *member);
      wanted.emplace(member->uid, others ? here.claims.at(member->uid) : member->claim);
    }
  }
  for (const auto& [uid, claim] : here.claims) {
    if (!wanted.contains(uid) && !IsDead(here, uid)) wanted.emplace(uid, claim);
  }
  return wanted;
}

// Another server may have claimed there since: what it has shows with the conflict.
void KubeClaimer::GiveUpLostClaims() {
  if (std::none_of(book_.runs().begin(), book_.runs().end(),
                   [](const auto& one) { return one.second.step == KubeRun::Step::kClaim; })) {
    return;
  }
  const KubeMembersByNode placed = Placed();
  std::vector<std::pair<std::int64_t, std::string>> lost;
  for (const auto& [job, run] : book_.runs()) {
    if (run.step != KubeRun::Step::kClaim) continue;
    for (const KubeMember& member : run.members) {
      const auto here = book_.nodes().find(member.node);
      if (here == book_.nodes().end()) continue;
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
  for (auto& [job, why] : lost) ends_.Refuse(job, std::move(why));
}

void KubeClaimer::Send() {
  GiveUpLostClaims();
  const KubeMembersByNode placed = Placed();
  for (auto& [name, here] : book_.nodes()) {
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
    if (!here.dead_since) here.dead_since = book_.now();
    if (!adds && book_.now() < *here.dead_since + kDeadClaimsRest) continue;
    // Asked for already, and the API server has not shown anything since.
    if (here.asked && here.asked_version == here.kube.version &&
        book_.now() < *here.asked + book_.options().write_again) {
      continue;
    }
    here.asked = book_.now();
    here.asked_version = here.kube.version;
    ++outbox_.written().claims;
    outbox_.Put(ClaimRequest(here.kube, wanted),
                [this, node = name](const auto& request, const auto& said) {
                  TakeClaimAnswer(request, node, said);
                });
  }
}

// Nothing is taken from a success: the watch shows it. A conflict is another writer's turn.
void KubeClaimer::TakeClaimAnswer(const KubeRequest& request, const std::string& node,
                                  const core::Result<KubeAnswer>& answer) {
  if (!answer || answer->status < 300 || answer->status == 409 || answer->status >= 429) return;
  std::vector<std::int64_t> jobs;
  for (const auto& [job, run] : book_.runs()) {
    const bool here = std::any_of(run.members.begin(), run.members.end(),
                                  [&](const KubeMember& member) { return member.node == node; });
    if (run.step == KubeRun::Step::kClaim && here) jobs.push_back(job);
  }
  const std::string words = RefusedInWords(request, *answer);
  for (const std::int64_t job : jobs) {
    ends_.Refuse(job, fmt::format("its GPUs could not be claimed on node {}: {}", node, words));
  }
}

bool KubeClaimer::IsShown(const KubeMember& member) const {
  const auto here = book_.nodes().find(member.node);
  if (here == book_.nodes().end() || !here->second.there) return false;
  const auto shown = here->second.claims.find(member.uid);
  return shown != here->second.claims.end() && shown->second == member.claim;
}

bool KubeClaimer::AreShown(const KubeRun& run) const {
  return std::all_of(run.members.begin(), run.members.end(),
                     [&](const KubeMember& member) { return IsShown(member); });
}

}  // namespace sharewell::engine
