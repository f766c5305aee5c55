// Nodes as ours: which can be used, with which GPUs, and what others have of them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/kubernetes/control/kube_control.h"

namespace sharewell::engine {

using core::Seconds;

void KubeControl::Remark(const std::string& words) {
  if (IsNewRemark(words) && opened_) options_.log(words);
}

// Nodes without our annotation are nobody of ours. GPUs of a node that is up stay what they are.
void KubeControl::HandleNode(KubeNode node) {
  const auto known = nodes_.find(node.name);
  if (node.gpus.empty() && known == nodes_.end()) {
    if (node.allocatable.contains("nvidia.com/gpu")) {
      Remark(fmt::format(
          "node {} has GPUs, but no annotation sharewell.io/gpus: its GPUs are not used",
          node.name));
    }
    return;
  }
  NodeHere& here = nodes_[node.name];
  const bool is_new = here.kube.name.empty();
  if (is_new || here.kube.labels != node.labels || here.kube.taints != node.taints ||
      here.kube.allocatable != node.allocatable || !here.there) {
    ++terms_version_;
  }
  if (is_new || (!here.told_up && here.kube.gpus != node.gpus)) {
    here.node = {};
    here.numbers.clear();
    here.node.name = node.name;
    here.usable = false;
    const auto gpus = ParseKubeGpus(node.gpus);
    const auto model = gpus ? options_.model(gpus->model) : std::nullopt;
    if (!gpus) {
      Remark(fmt::format("node {} is not used: {}", node.name, gpus.error().message));
    } else if (!model) {
      Remark(
          fmt::format("node {} is not used: its GPU model {} is not known (`sharewell gpus` lists "
                      "those that are)",
                      node.name, core::Quoted(gpus->model)));
    } else {
      here.usable = true;
      here.node.gpu_memory = model->memory;
      here.node.islands = gpus->islands;
      models_.insert(model->name);
      for (std::size_t i = 0; i < gpus->uuids.size(); ++i) {
        const std::string& uuid = gpus->uuids[i];
        here.numbers[uuid] = gpus->numbers[i];
        AddGpu(uuid, model->name, here.node);
      }
    }
  } else if (here.kube.gpus != node.gpus) {
    Remark(
        fmt::format("node {}: its GPUs have changed; they are used as they were until the node "
                    "was away or the server is started again",
                    node.name));
  }
  const auto cpu = node.allocatable.find("cpu"), memory = node.allocatable.find("memory");
  if (!here.told_up && cpu != node.allocatable.end()) {
    here.node.cores = static_cast<double>(cpu->second) / 1000;
  }
  if (!here.told_up && memory != node.allocatable.end()) {
    here.node.memory = core::Bytes(static_cast<double>(memory->second));
  }
  if (is_new || here.kube.claims != node.claims) {
    auto claims = ParseKubeClaims(node.claims);
    here.bad_claims = claims ? "" : claims.error().message;
    here.claims = claims ? std::move(*claims) : KubeClaims();
    if (!here.bad_claims.empty()) Remark(fmt::format("node {}: {}", node.name, here.bad_claims));
    for (const auto& [uid, claim] : here.claims) {
      next_number_ = std::max(next_number_, claim.job + 1);
    }
    std::erase_if(here.freed, [&](const auto& one) { return !here.claims.contains(one.first); });
    std::erase_if(here.resting, [&](const auto& one) { return !here.claims.contains(one.first); });
  }
  here.there = true;
  here.kube = std::move(node);
  TouchNode(here.kube.name);
}

bool KubeControl::IsLost(const std::string& node) const {
  const auto here = nodes_.find(node);
  return here == nodes_.end() || !here->second.told_up;
}

// One that is not ready for a moment keeps its pods, and takes no others meanwhile (EmitTaken).
void KubeControl::EmitNodes(bool first) {
  for (auto& [name, here] : nodes_) {
    if (!here.usable) continue;
    const bool ready = here.there && here.kube.ready;
    if (ready) {
      here.down_since.reset();
    } else if (!here.down_since) {
      here.down_since = now_;
    }
    const bool lost =
        !here.there ||
        (here.down_since && (now_ >= *here.down_since + options_.lost_after || !here.told_up));
    const bool up = !lost;
    if (up == here.told_up) continue;
    here.told_up = up;
    TouchNode(name);
    if (up && !std::exchange(here.told, true)) ++terms_version_;
    if (first) continue;
    for (const core::GivenGpu& gpu : here.node.gpus) taken_.erase(gpu.uuid);  // it is told anew
    host_taken_.erase(name);
    if (up) {
      Emit(NodeCame{here.node});
    } else {
      Emit(
          NodeWent{here.node.name, here.there ? here.kube.not_ready : "Kubernetes has it no more"});
    }
  }
}

std::vector<RunnerNode> KubeControl::Open(Seconds now) {
  now_ = now;
  std::vector<RunEvent> none;
  out_ = &none;
  EmitWatched();
  EmitNodes(true);
  opened_ = true;
  return Nodes();
}

// By all pods that are bound there, and by those of ours that are about to be.
KubeAmounts KubeControl::UsedOn(const std::string& node, const MembersByNode& members) const {
  KubeAmounts used;
  std::int64_t pods = 0;
  if (const auto there = on_node_.find(node); there != on_node_.end()) {
    for (const std::string& uid : there->second) {
      AddAmounts(pods_.at(uid).requests, used);
      ++pods;
    }
  }
  if (const auto comes = members.find(node); comes != members.end()) {
    for (const Member* member : comes->second) {
      const auto pod = pods_.find(member->uid);
      if (pod == pods_.end() || !pod->second.node.empty()) continue;
      AddAmounts(pod->second.requests, used);
      ++pods;
    }
  }
  used["pods"] = pods;
  return used;
}

// GPUs of nodes that take no new pods, and of those where the stock device plugin gives GPUs out
// without saying which.
void KubeControl::EmitTaken() {
  if (touched_.empty()) return;
  std::map<std::string, std::string> taken;
  for (const auto& [name, here] : nodes_) {
    if (!here.told_up) continue;
    std::string who;
    if (!here.bad_claims.empty()) {
      who = fmt::format("node {}: {}", name, here.bad_claims);
    } else if (!here.kube.ready) {
      who = fmt::format("node {} is not ready: {}", name, here.kube.not_ready);
    } else if (here.kube.cordoned) {
      who = fmt::format("node {} takes no new pods: it is cordoned", name);
    } else if (const auto there = on_node_.find(name); there != on_node_.end()) {
      for (const std::string& uid : there->second) {
        const KubePod& pod = pods_.at(uid);
        const auto wants = pod.requests.find("nvidia.com/gpu");
        if (wants == pod.requests.end() || wants->second == 0) continue;
        who = fmt::format("pod {} has {} of node {} by nvidia.com/gpu, and nobody says which",
                          core::Quoted(pod.Name()),
                          core::Count(static_cast<std::uint64_t>(wants->second), "GPU"), name);
      }
    }
    if (who.empty()) continue;
    for (const core::GivenGpu& gpu : here.node.gpus) taken[gpu.uuid] = who;
  }
  EmitChanged(std::move(taken));
}

// CPUs and memory of pods that are not ours.
void KubeControl::EmitHostTaken() {
  const auto is_ours = [&](const std::string& uid) {
    const auto pod_group = pod_group_of_.find(uid);
    const auto run = pod_group == pod_group_of_.end() ? runs_.end() : runs_.find(pod_group->second);
    return run != runs_.end() &&
           std::any_of(run->second.members.begin(), run->second.members.end(),
                       [&](const Member& member) { return member.uid == uid; });
  };
  for (const std::string& name : std::exchange(touched_, {})) {
    const auto here = nodes_.find(name);
    if (here == nodes_.end() || !here->second.told_up) continue;
    KubeAmounts used;
    if (const auto there = on_node_.find(name); there != on_node_.end()) {
      for (const std::string& uid : there->second) {
        if (!is_ours(uid)) AddAmounts(pods_.at(uid).requests, used);
      }
    }
    const HostUse now{static_cast<double>(used["cpu"]) / 1000, static_cast<double>(used["memory"])};
    HostUse& told = host_taken_[name];
    if (told == now) continue;
    told = now;
    Emit(HostTaken{name, now.cores, core::Bytes(now.memory)});
  }
}

}  // namespace sharewell::engine
