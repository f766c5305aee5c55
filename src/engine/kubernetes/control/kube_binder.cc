#include "engine/kubernetes/control/kube_binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/quoted.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

// So long after its claim a pod may still be bound: less than a claim of nobody rests, by more than
// a request may take.
constexpr Seconds kBindWithin(15);

}  // namespace

// False: it is none that can be bound, or was asked for just now.
bool KubeBinder::Bind(std::int64_t job, KubeRun& run, KubeMember& member) {
  const KubePod* pod = book_.PodOf(member);
  if (pod == nullptr || !pod->node.empty() || pod->deleting) return false;
  const Seconds now = book_.now();
  const bool changed = member.version != pod->version && !run.refused.empty();
  if (member.asked && !changed && now < *member.asked + book_.options().write_again) return false;
  member.asked = now;
  member.version = pod->version;
  const auto pod_group = book_.groups().find(job);
  ++outbox_.written().bindings;
  outbox_.Put(BindRequest(*pod, member.node, member.claim,
                          pod_group == book_.groups().end() ? "" : pod_group->second.known),
              [this, job](const auto& request, const auto& answer) {
                TakeBindAnswer(request, job, answer);
              });
  return true;
}

void KubeBinder::Send() {
  std::size_t count = 0;
  for (auto& [job, run] : book_.runs()) {
    if (count >= kMostKubeStartsAtOnce) {
      outbox_.AskForMore();
      break;
    }
    if (run.step >= KubeRun::Step::kBound && run.wanted == WantedRun::kNothing) {
      for (KubeMember& member : run.members) {
        if (member.joins && claimer_.IsShown(member) && Bind(job, run, member)) ++count;
      }
      continue;
    }
    if (run.step != KubeRun::Step::kClaim && run.step != KubeRun::Step::kBind) continue;
    if (run.wanted != WantedRun::kNothing && !run.bind_sent) continue;
    if (book_.now() >= run.since + kBindWithin || !claimer_.AreShown(run)) continue;
    run.step = KubeRun::Step::kBind;
    run.bind_sent = true;
    for (KubeMember& member : run.members) {
      if (Bind(job, run, member)) ++count;
    }
  }
}

void KubeBinder::TakeBindAnswer(const KubeRequest& request, std::int64_t job,
                                const core::Result<KubeAnswer>& answer) {
  const auto run = book_.runs().find(job);
  if (run == book_.runs().end()) return;
  if (!answer) {
    run->second.refused = answer.error().message;
  } else if (answer->status >= 300) {
    run->second.refused = RefusedInWords(request, *answer);
  }
}

// Whose neighbours have its GPU too hears of it as they do.
void KubeBinder::TellPlaced(const KubeMember& member) {
  const KubePod& pod = *book_.PodOf(member);
  const auto& gpus = member.claim.gpus;
  notices_.EndWait(pod);
  notices_.Queue(pod,
                 {"Scheduled",
                  fmt::format("bound to node {}{}", member.node,
                              gpus.empty() ? "" : fmt::format(", GPU {}", fmt::join(gpus, ", "))),
                  false});
  const auto here = book_.nodes().find(member.node);
  if (here == book_.nodes().end()) return;
  std::vector<std::string> with;
  for (const auto& [uid, claim] : here->second.claims) {
    const auto other = book_.pods().find(uid);
    if (uid == member.uid || other == book_.pods().end() || other->second.IsOver()) continue;
    for (const std::string& gpu : claim.gpus) {
      if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) continue;
      const auto shares = [&](const std::string& name) {
        return fmt::format("shares GPU {} of node {} with pod {}", gpu, member.node, name);
      };
      with.push_back(shares(other->second.Name()));
      notices_.Queue(other->second, {"Shared", shares(pod.Name()), false});
    }
  }
  if (!with.empty()) {
    notices_.Queue(pod, {"Shared", fmt::format("{}", fmt::join(with, "; ")), false});
  }
}

// One that is not bound any more, or never will be, is as one that is gone.
void KubeBinder::AdvanceJoins(KubeRun& run) {
  for (KubeMember& member : run.members) {
    if (!member.joins) continue;
    const KubePod* pod = book_.PodOf(member);
    const bool may_come = member.asked && book_.now() < *member.asked + kBindWithin;
    if (pod != nullptr && pod->node == member.node) {
      TellPlaced(member);
    } else if (pod != nullptr && pod->node.empty() && !pod->deleting &&
               (run.wanted == WantedRun::kNothing || may_come)) {
      continue;
    }
    member.joins.reset();
    member.asked.reset();
    book_.touched().insert(member.node);
  }
}

// Until the API server shows all of them bound.
void KubeBinder::Advance(std::int64_t job) {
  KubeRun& run = book_.runs().at(job);
  std::size_t bound = 0, gone = 0;
  for (const KubeMember& member : run.members) {
    const KubePod* pod = book_.PodOf(member);
    if (pod == nullptr || (pod->node.empty() && pod->deleting)) {
      ++gone;
    } else if (pod->node == member.node) {
      ++bound;
    } else if (!pod->node.empty()) {
      return ends_.TakeOver(job, fmt::format("somebody else bound pod {} to node {}",
                                             core::Quoted(pod->Name()), core::Quoted(pod->node)));
    }
  }
  if (bound == run.members.size()) {
    run.step = KubeRun::Step::kBound;
    run.since = book_.now();
    run.refused.clear();
    for (KubeMember& member : run.members) {
      member.asked.reset();
      TellPlaced(member);
    }
    return;
  }
  if (gone == run.members.size()) {
    run.step = KubeRun::Step::kBound;  // it was bound and has ended, or was deleted: all the same
    return;
  }
  if (book_.now() < run.since + book_.options().start_within) return;
  const std::string why =
      fmt::format("the API server did not show it bound within {:g} s{}{}",
                  book_.options().start_within.value, run.refused.empty() ? "" : ": ", run.refused);
  if (bound == 0 && gone == 0) return ends_.Refuse(job, why);
  // All of a group or none: those that were bound leave again.
  run.step = KubeRun::Step::kBound;
  run.since = book_.now();
  if (run.wanted == WantedRun::kNothing) run.wanted = WantedRun::kStop;
  run.refused = why;
  for (KubeMember& member : run.members) member.asked.reset();
}

}  // namespace sharewell::engine
