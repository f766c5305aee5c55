#include "engine/kubernetes/control/kube_binder.h"

#include <fmt/format.h>

#include "core/text/quoted.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

// So long after its claim a pod may still be bound: less than a claim of nobody rests, by more than
// a request may take.
constexpr Seconds kBindWithin(15);

}  // namespace

void KubeBinder::Send() {
  std::size_t count = 0;
  for (auto& [job, run] : book_.runs()) {
    if (count >= kMostKubeStartsAtOnce) {
      outbox_.AskForMore();
      break;
    }
    if (run.step != KubeRun::Step::kClaim && run.step != KubeRun::Step::kBind) continue;
    if (run.wanted != WantedRun::kNothing && !run.bind_sent) continue;
    if (book_.now() >= run.since + kBindWithin || !claimer_.AreShown(run)) continue;
    run.step = KubeRun::Step::kBind;
    run.bind_sent = true;
    for (KubeMember& member : run.members) {
      const KubePod* pod = book_.PodOf(member);
      if (pod == nullptr || !pod->node.empty() || pod->deleting) continue;
      const bool changed = member.version != pod->version && !run.refused.empty();
      if (member.asked && !changed && book_.now() < *member.asked + book_.options().write_again)
        continue;
      member.asked = book_.now();
      member.version = pod->version;
      ++count;
      ++outbox_.written().bindings;
      outbox_.Put(BindRequest(*pod, member.node, member.claim),
                  [this, number = job](const auto& request, const auto& answer) {
                    TakeBindAnswer(request, number, answer);
                  });
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
      notices_.Queue(
          *book_.PodOf(member),
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
