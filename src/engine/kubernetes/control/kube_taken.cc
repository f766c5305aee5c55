#include "engine/kubernetes/control/kube_taken.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/kubernetes/control/kube_stock.h"

namespace sharewell::engine {

// GPUs of nodes that take no new pods, and of those where a pod may have any of them by NVIDIA's
// device plugin. Where that may come to be, an admin is told.
void KubeTaken::EmitGpus() {
  if (book_.touched().empty()) return;
  std::map<std::string, std::string> taken;
  for (const auto& [name, here] : book_.nodes()) {
    if (!here.told_up) continue;
    std::string who;
    if (!here.bad_claims.empty()) {
      who = fmt::format("node {}: {}", name, here.bad_claims);
    } else if (!here.kube.ready) {
      who = fmt::format("node {} is not ready: {}", name, here.kube.not_ready);
    } else if (here.kube.cordoned) {
      who = fmt::format("node {} takes no new pods: it is cordoned", name);
    } else {
      who = WhoHasStock(book_, pods_, here.kube);
      if (!who.empty() && !here.node.gpus.empty()) TellResidents(here, who);
    }
    const std::string warning = WarningOfStock(here.kube);
    if (!warning.empty() && book_.Remark(warning)) book_.Emit(RunnerNote{warning});
    for (const std::string& uuid : here.unlisted) {
      taken[uuid] =
          fmt::format("the annotation sharewell.io/gpus of node {} does not list it", name);
    }
    if (who.empty()) continue;
    for (const core::GivenGpu& gpu : here.node.gpus) taken[gpu.uuid] = who;
  }
  book_.EmitChanged(std::move(taken));
}

// Pods of ours that run there, once: they may not be alone any more.
void KubeTaken::TellResidents(const KubeNodeHere& here, const std::string& who) {
  const auto told = book_.taken().find(here.node.gpus.front().uuid);
  if (told != book_.taken().end() && told->second == who) return;
  for (const auto& [uid, claim] : here.claims) {
    const auto pod = book_.pods().find(uid);
    if (claim.gpus.empty() || pod == book_.pods().end()) continue;
    if (pod->second.node.empty() || pod->second.IsOver()) continue;
    notices_.Queue(pod->second, {"Shared", "perhaps its GPU is shared: " + who, true});
  }
}

// CPUs and memory of pods that are not ours.
void KubeTaken::EmitHosts() {
  const auto is_ours = [&](const std::string& uid) {
    const auto pod_group = book_.group_of().find(uid);
    const auto run = pod_group == book_.group_of().end() ? book_.runs().end()
                                                         : book_.runs().find(pod_group->second);
    return run != book_.runs().end() &&
           std::any_of(run->second.members.begin(), run->second.members.end(),
                       [&](const KubeMember& member) { return member.uid == uid; });
  };
  for (const std::string& name : std::exchange(book_.touched(), {})) {
    const auto here = book_.nodes().find(name);
    if (here == book_.nodes().end() || !here->second.told_up) continue;
    KubeAmounts used;
    if (const auto there = pods_.on_node().find(name); there != pods_.on_node().end()) {
      for (const std::string& uid : there->second) {
        if (!is_ours(uid)) AddAmounts(book_.pods().at(uid).requests, used);
      }
    }
    const KubeHostUse now{static_cast<double>(used["cpu"]) / 1000,
                          static_cast<double>(used["memory"])};
    if (std::exchange(here->second.host_taken, now) == now) continue;
    book_.Emit(HostTaken{name, now.cores, core::Bytes(now.memory)});
  }
}

}  // namespace sharewell::engine
