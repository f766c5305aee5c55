#include "engine/kubernetes/control/kube_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/kubernetes/pods/pod_known.h"

namespace sharewell::engine {

namespace {

// What an earlier server knew of it; else what can be said of it at once.
std::optional<core::Needs> NeedsOfBound(const KubeBook& book, const KubePod& pod,
                                        const PodWords& words, const core::Submission& asked) {
  std::string problem;
  auto known = KnownNeeds(pod, problem);
  if (known) return known;
  if (!problem.empty()) book.options().log(fmt::format("pod {}: {}", pod.Name(), problem));
  if (words.model.empty() || asked.gpus == 0 || !book.options().predict) return std::nullopt;
  auto predicted = book.options().predict(pod.name_space, words, asked);
  if (!predicted || !*predicted) return std::nullopt;
  return std::move(**predicted);
}

}  // namespace

std::vector<RunRequest> RecoverKubeRuns(KubeBook& book, KubePods& pods) {
  std::map<RunId, KubeRun> found;
  for (const auto& [name, here] : book.nodes()) {
    for (const auto& [uid, claim] : here.claims) {
      const auto pod = book.pods().find(uid);
      if (pod == book.pods().end() || pod->second.node != name || !pods.IsOurs(pod->second))
        continue;
      KubeRun& run = found[{claim.job, claim.attempt}];
      KubeMember member;
      member.uid = uid;
      member.node = name;
      member.claim = claim;
      run.members.push_back(std::move(member));
    }
  }
  std::vector<RunRequest> requests;
  for (auto& [id, run] : found) {
    std::sort(run.members.begin(), run.members.end(),
              [&](const KubeMember& a, const KubeMember& b) {
                return book.pods().at(a.uid).name < book.pods().at(b.uid).name;
              });
    const KubePod& first = book.pods().at(run.members.front().uid);
    PodWords words = ParsePodWords(first);
    // All of them were started together.
    if (words.unsized != PodGroupKind::kNone)
      words.group_size = static_cast<int>(run.members.size());
    const ForeignJob foreign = SubmissionOf(first, words, static_cast<int>(run.members.size()));
    RunRequest& request = run.request;
    request.id = id;
    request.user = foreign.user;
    request.asked = foreign.asked;
    request.asked.needs = NeedsOfBound(book, first, words, foreign.asked);
    request.terms = foreign.terms;
    request.submitted = foreign.submitted;
    for (const KubeMember& member : run.members) {
      const KubeClaim& claim = member.claim;
      request.started = std::max(request.started, book.pods().at(member.uid).started);
      auto& nodes = request.nodes;
      if (std::find(nodes.begin(), nodes.end(), member.node) == nodes.end()) {
        nodes.push_back(member.node);
      }
      for (const std::string& uuid : claim.gpus) {
        request.gpus.push_back(book.GpuNamed(uuid));
      }
      request.cores += claim.cores;
      request.shares = claim.shares;
      if (claim.sm_percent < 100) request.thread_share = claim.sm_percent / 100.0;
      const core::Bytes memory(static_cast<double>(claim.memory_mib.value_or(0)) * (1 << 20));
      if (claim.limited) request.gpu_memory = memory;
      if (claim.guest) request.guest_memory = memory;
      if (!claim.limited && claim.memory_mib) request.expected_memory = memory;
    }
    if (book.runs().contains(id.job) || book.groups().contains(id.job)) continue;
    KubePodGroup& pod_group = book.groups()[id.job];
    pod_group.number = id.job;
    pod_group.told = true;
    pod_group.words = words;
    pod_group.owner = first.owner;
    if (request.asked.needs) pod_group.known = WriteKnown({*request.asked.needs, {}, words.model});
    pod_group.group = GroupOf(first, words);
    pod_group.name = pod_group.group.empty() ? first.Name() : pod_group.group;
    for (const KubeMember& member : run.members) {
      pod_group.members.push_back(member.uid);
      book.group_of()[member.uid] = id.job;
      pods.joins().erase(member.uid);
    }
    run.step = KubeRun::Step::kBound;
    run.bind_sent = true;
    requests.push_back(request);
    book.runs().emplace(id.job, std::move(run));
  }
  return requests;
}

}  // namespace sharewell::engine
