#include "engine/kubernetes/control/kube_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_stock.h"

namespace sharewell::engine {

void KubeNodes::HandleGone(const std::string& name) {
  const auto here = book_.nodes().find(name);
  if (here != book_.nodes().end()) here->second.there = false;
}

// A node that is new, as far as the service knows.
void KubeNodes::PutGpus(KubeNodeHere& here, const KubeGpus& gpus, const KnownGpuModel& model) {
  here.usable = true;
  here.node.gpu_memory = model.memory;
  here.node.islands = gpus.islands;
  for (std::size_t i = 0; i < gpus.uuids.size(); ++i) {
    here.numbers[gpus.uuids[i]] = gpus.numbers[i];
    book_.AddGpu(gpus.uuids[i], model.name, here.node);
  }
}

// One that the service has: a GPU that is new takes the place of one that is listed no more.
// `model`: null where it is none that is known, and then nothing is listed.
void KubeNodes::ChangeGpus(KubeNodeHere& here, const KubeGpus& gpus, const KnownGpuModel* model) {
  auto& places = here.node.gpus;
  const bool same_model = model != nullptr && !places.empty() && places[0].model == model->name;
  std::map<std::string, int> listed;
  for (std::size_t i = 0; same_model && i < gpus.uuids.size(); ++i) {
    listed[gpus.uuids[i]] = gpus.numbers[i];
  }
  std::vector<core::GivenGpu*> vacant;
  std::set<std::string> has;
  for (core::GivenGpu& place : places) {
    has.insert(place.uuid);
    if (!listed.contains(place.uuid)) vacant.push_back(&place);
  }
  std::size_t next = 0, too_many = 0;
  for (const auto& [uuid, number] : listed) {
    here.numbers[uuid] = number;
    if (has.contains(uuid)) continue;
    if (next == vacant.size()) {
      ++too_many;
      continue;
    }
    RunnerNode one;
    book_.AddGpu(uuid, model->name, one);
    *vacant[next++] = one.gpus.front();
  }
  here.unlisted.clear();
  for (const core::GivenGpu& place : places) {
    if (!listed.contains(place.uuid)) here.unlisted.insert(place.uuid);
  }
  if (next > 0) TellAnew(here);
  if (too_many > 0) {
    book_.Remark(fmt::format(
        "node {} has {} GPUs more than when this server first saw it; they are used when the "
        "server is started again (`kubectl rollout restart` of its Deployment: pods run on)",
        here.kube.name, too_many));
  }
}

// The service gets the node's GPUs as they are now, and which of them are taken.
void KubeNodes::TellAnew(KubeNodeHere& here) {
  if (!here.told_up) return;
  for (const core::GivenGpu& gpu : here.node.gpus) book_.taken().erase(gpu.uuid);
  here.changed = true;
}

void KubeNodes::ReadGpus(KubeNodeHere& here, const std::string& words) {
  auto gpus = ParseKubeGpus(words);
  const auto model = gpus ? book_.options().model(gpus->model) : std::nullopt;
  if (!gpus && !words.empty()) {
    book_.Remark(fmt::format("node {} is not used: {}", here.kube.name, gpus.error().message));
  } else if (gpus && !model) {
    book_.Remark(
        fmt::format("node {} is not used: its GPU model {} is not known (`sharewell gpus` lists "
                    "those that are)",
                    here.kube.name, core::Quoted(gpus->model)));
  }
  if (here.told) {
    return ChangeGpus(here, gpus ? *gpus : KubeGpus(), model ? &*model : nullptr);
  }
  here.node = {};
  here.node.name = here.kube.name;
  here.numbers.clear();
  here.usable = false;
  if (model) PutGpus(here, *gpus, *model);
}

void KubeNodes::ReadClaims(KubeNodeHere& here, const KubeNode& node) {
  auto claims = ParseKubeClaims(node.claims);
  here.bad_claims = claims ? "" : claims.error().message;
  here.claims = claims ? std::move(*claims) : KubeClaims();
  if (!here.bad_claims.empty()) {
    book_.Remark(fmt::format("node {}: {}", node.name, here.bad_claims));
  }
  for (const auto& [uid, claim] : here.claims) {
    book_.next_number() = std::max(book_.next_number(), claim.job + 1);
  }
  std::erase_if(here.freed, [&](const auto& one) { return !here.claims.contains(one.first); });
  std::erase_if(here.resting, [&](const auto& one) { return !here.claims.contains(one.first); });
}

// Nodes without our annotation are nobody of ours.
void KubeNodes::Handle(KubeNode node) {
  const auto known = book_.nodes().find(node.name);
  if (node.gpus.empty() && known == book_.nodes().end()) {
    if (node.allocatable.contains(std::string(kStockGpus))) {
      book_.Remark(fmt::format(
          "node {} has GPUs, but no annotation sharewell.io/gpus: its GPUs are not used",
          node.name));
    }
    return;
  }
  KubeNodeHere& here = book_.nodes()[node.name];
  const bool is_new = here.kube.name.empty();
  const std::string gpus = here.kube.gpus;
  if (is_new || here.kube.labels != node.labels || here.kube.taints != node.taints ||
      here.kube.allocatable != node.allocatable || gpus != node.gpus || !here.there) {
    ++book_.terms_version();
  }
  here.kube.name = node.name;
  if (is_new || gpus != node.gpus) ReadGpus(here, node.gpus);
  const auto cpu = node.allocatable.find("cpu"), memory = node.allocatable.find("memory");
  if (!here.told_up && cpu != node.allocatable.end()) {
    here.node.cores = static_cast<double>(cpu->second) / 1000;
  }
  if (!here.told_up && memory != node.allocatable.end()) {
    here.node.memory = core::Bytes(static_cast<double>(memory->second));
  }
  if (is_new || here.kube.claims != node.claims) ReadClaims(here, node);
  here.there = true;
  here.kube = std::move(node);
  book_.touched().insert(here.kube.name);
}

bool KubeNodes::IsLost(const std::string& node) const {
  const auto here = book_.nodes().find(node);
  return here == book_.nodes().end() || !here->second.told_up;
}

// One that is not ready for a moment keeps its pods, and takes no others meanwhile (EmitTaken).
void KubeNodes::EmitChanges(bool first) {
  for (auto& [name, here] : book_.nodes()) {
    if (!here.usable) continue;
    const bool ready = here.there && here.kube.ready;
    if (ready) {
      here.down_since.reset();
    } else if (!here.down_since) {
      here.down_since = book_.now();
    }
    const bool lost =
        !here.there ||
        (here.down_since &&
         (book_.now() >= *here.down_since + book_.options().lost_after || !here.told_up));
    const bool up = !lost;
    const bool changed = std::exchange(here.changed, false);
    if (up && here.told_up && changed) book_.Emit(NodeCame{here.node});
    if (up == here.told_up) continue;
    here.told_up = up;
    book_.touched().insert(name);
    if (up && !std::exchange(here.told, true)) ++book_.terms_version();
    if (first) continue;
    for (const core::GivenGpu& gpu : here.node.gpus)
      book_.taken().erase(gpu.uuid);  // it is told anew
    here.host_taken = {};
    if (up) {
      book_.Emit(NodeCame{here.node});
    } else {
      book_.Emit(
          NodeWent{here.node.name, here.there ? here.kube.not_ready : "Kubernetes has it no more"});
    }
  }
}

// A node that is new comes as it is; of the others once in a while.
void KubeNodes::EmitWatched() {
  if (!book_.options().watched) return;
  const bool due = !watched_asked_ || book_.now() >= *watched_asked_ + book_.options().steps_every;
  if (due) watched_asked_ = book_.now();
  for (auto& [name, here] : book_.nodes()) {
    if (!here.usable || (!due && here.told_up)) continue;
    const auto heard = book_.options().watched(name);
    const bool alone = !heard.value_or(false), silent = heard && !*heard;
    const bool same = std::exchange(here.node.exclusive, alone) == alone;
    if (!here.told_up) {
      here.told_silent = false;
      continue;
    }
    const bool was_silent = std::exchange(here.told_silent, silent);
    if (same && was_silent == silent) continue;
    NodeChanged event{here.node.name, here.node.reserved, here.node.exclusive};
    if (silent) {
      event.why = "no agent is heard there: each of its GPUs is given to one pod at a time";
    } else if (was_silent) {
      event.why = "its agent is heard: pods may share its GPUs";
    }
    book_.Emit(std::move(event));
  }
}

}  // namespace sharewell::engine
