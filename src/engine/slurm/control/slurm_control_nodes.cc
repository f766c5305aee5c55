// Slurm's nodes as ours: which can be used, with which GPUs, and how much of them is free.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/slurm/control/slurm_control.h"

namespace sharewell::engine {

using core::Result;

namespace {

bool HasNodes(SlurmPhase phase) {
  return phase == SlurmPhase::kConfiguring || phase == SlurmPhase::kRunning ||
         phase == SlurmPhase::kSuspended || phase == SlurmPhase::kCompleting;
}

}  // namespace

Result<void> SlurmControl::Open() {
  RETURN_IF_ERROR(ReadNodes(true));
  return KeepClaim();
}

void SlurmControl::Remark(const std::string& words) {
  if (IsNewRemark(words) && nodes_read_) options_.log(words);
}

Result<void> SlurmControl::ReadNodes(bool first) {
  auto nodes = client_.Nodes();
  RETURN_IF_ERROR(nodes);
  std::set<std::string> there;
  for (SlurmNode& node : *nodes) {
    there.insert(node.name);
    HandleNode(std::move(node), first);
  }
  for (auto& [name, here] : nodes_) {
    if (there.contains(name) || !here.told_up) continue;
    here.told_up = here.slurm.up = false;
    Emit(NodeWent{name, "Slurm has it no more"});
  }
  ReadReservations();
  ReadShares();
  for (auto& [name, here] : nodes_) {
    if (here.usable) EmitReserved(here);
    if (here.usable) EmitWatched(here);
  }
  if (first) RemarkOnAgents();
  nodes_read_ = now_;
  return {};
}

// Later on each node's own event says so.
void SlurmControl::RemarkOnAgents() {
  std::vector<std::string> alone;
  for (const auto& [name, here] : nodes_) {
    if (here.told_up && here.node.exclusive && !here.plain) alone.push_back(name);
  }
  if (alone.empty()) return;
  Remark(fmt::format(
      "no agent is heard on {}: until one is, each GPU there is given to one job at a time; run "
      "`sharewell monitor` there, with the store of this server",
      fmt::join(alone, ", ")));
}

void SlurmControl::HandleGpus(const SlurmNode& node, NodeHere& here) {
  const auto model = ModelOfNode(node, options_.model);
  const std::string others = core::Count(static_cast<std::uint64_t>(node.other_gpus), "GPU");
  std::vector<std::string> slots = node.slots;
  if (slots.empty()) {
    for (int i = 0; i < node.other_gpus; ++i) slots.push_back(PlainGpu(i));
    here.plain = !slots.empty();
  }
  here.node.exclusive = here.plain;
  if (slots.empty()) return;
  if (!here.plain && options_.watched) here.node.exclusive = !options_.watched(node.name);
  if (!model) {
    here.usable = false;
    return Remark(fmt::format(
        "node {} is not used: none of its features is a GPU model ({}); add one, as in "
        "Feature=v100 (`sharewell slurm install --print`)",
        node.name,
        node.features.empty() ? "it has none" : fmt::format("{}", fmt::join(node.features, ", "))));
  }
  if (here.plain) {
    Remark(fmt::format(
        "node {}: {} without shards: each is given to one job at a time, and Slurm says which; "
        "`sharewell slurm install --print` writes the lines that let jobs share them",
        node.name, others));
  } else if (node.other_gpus > 0) {
    Remark(fmt::format(
        "node {}: {} without shards beside others that have some: Sharewell leaves them to Slurm; "
        "`sharewell slurm install --print` writes the lines that are missing",
        node.name, others));
  }
  models_.insert(model->name);
  here.node.gpu_memory = model->memory;
  for (const std::string& slot : slots) {
    AddGpu(SlurmGpuUuid(node.name, slot), model->name, here.node);
  }
}

void SlurmControl::HandleNode(SlurmNode node, bool first) {
  NodeHere& here = nodes_[node.name];
  const bool same_gpus = here.slurm.slots == node.slots && here.slurm.features == node.features &&
                         here.slurm.other_gpus == node.other_gpus;
  if (here.slurm.name.empty() || (!here.told_up && !same_gpus)) {
    ++terms_version_;
    here.node = {};
    here.node.name = node.name;
    here.node.cores = node.cpus;
    if (node.memory.value > 0) here.node.memory = node.memory;
    here.usable = true;
    HandleGpus(node, here);
  }
  if (here.slurm.features != node.features) ++terms_version_;
  here.slurm = std::move(node);
  if (!here.usable) return;
  if (here.slurm.up == here.told_up) return;
  // One that takes no new jobs, or does not answer for a while, keeps those that run there: it is
  // Slurm's to end them.
  if (!here.slurm.up && HasRuns(here.slurm.name)) return;
  here.told_up = here.slurm.up;
  if (here.told_up && !std::exchange(here.told, true)) ++terms_version_;
  if (first) return;
  // Who has its GPUs is told anew.
  for (const core::GivenGpu& gpu : here.node.gpus) taken_.erase(gpu.uuid);
  if (here.slurm.up) return Emit(NodeCame{here.node});
  Emit(NodeWent{here.node.name,
                fmt::format("{}{}{}", fmt::join(here.slurm.states, "+"),
                            here.slurm.reason.empty() ? "" : ": ", here.slurm.reason)});
}

core::Bytes SlurmControl::GpuMemoryOf(const RunRequest& request) const {
  if (request.gpus.empty()) return core::Bytes(0);
  const std::string& uuid = request.gpus.front().uuid;
  const auto here = nodes_.find(uuid.substr(0, uuid.find('/')));
  return here == nodes_.end() ? core::Bytes(0) : here->second.node.gpu_memory;
}

std::map<std::string, int> SlurmControl::FreeShards() const {
  std::map<std::string, int> free;
  for (const auto& [job, run] : runs_) {
    if (!run.note.put) continue;
    for (const auto& [uuid, shards] : ShardsOf(*run.note.put)) {
      free.try_emplace(uuid, kShardsOfGpu).first->second -= shards;
    }
  }
  return free;
}

// It needs nodes that nobody else is on: all the CPUs that the smallest has. What it asked for is
// what Slurm is told.
void SlurmControl::AskForWholeNodes(const SlurmJob& job, core::Submission& asked) const {
  if (!job.whole_nodes) return;
  int fewest = 0;
  for (const auto& [name, here] : nodes_) {
    if (here.told && !here.node.gpus.empty() && (fewest == 0 || here.slurm.cpus < fewest)) {
      fewest = here.slurm.cpus;
    }
  }
  asked.cores = std::max(asked.cores.value_or(0), 1.0 * fewest * std::max(job.nodes_wanted, 1));
}

// CPUs and memory of jobs that are not ours.
void SlurmControl::EmitHostTaken() {
  if (options_.dry_run) return;  // jobs that Slurm runs are ours there
  std::map<std::int64_t, SlurmStrangers::Holder> holders;
  for (const auto& [id, known] : known_) {
    if (!known.line || known.line->nodes.empty() || IsOver(known.line->phase)) continue;
    holders[id] = {known.line->nodes, known.line->cpus,
                   known.job ? known.job->memory : std::nullopt, runs_.contains(id)};
  }
  std::vector<const SlurmNode*> read;
  for (const auto& [name, here] : nodes_) {
    if (nodes_read_ == now_) read.push_back(&here.slurm);
  }
  strangers_.Take(std::move(holders), read);
  std::map<std::string, StrangersUse> taken = strangers_.Taken();
  std::erase_if(taken, [&](const auto& one) {
    const auto here = nodes_.find(one.first);
    return here == nodes_.end() || !here->second.told_up;
  });
  const auto tell = [&](const std::string& name, const StrangersUse& now) {
    Emit(HostTaken{name, static_cast<double>(now.cpus), now.memory});
  };
  for (const auto& [name, now] : taken) {
    const auto told = host_taken_.find(name);
    if (told == host_taken_.end() || told->second != now) tell(name, now);
  }
  for (const auto& [name, before] : host_taken_) {
    if (!taken.contains(name)) tell(name, {});
  }
  host_taken_ = std::move(taken);
}

// As many as it has, of those that none of our runs counts as its own.
void SlurmControl::TakePlain(const SlurmJob& job, const NodeHere& here,
                             std::map<std::string, std::string>& taken) const {
  std::set<std::string> ours;
  for (const auto& [id, run] : runs_) {
    for (const core::GivenGpu& gpu : run.request.gpus) ours.insert(gpu.uuid);
  }
  int left = PlainGpusIn(job);
  for (auto gpu = here.node.gpus.rbegin(); gpu != here.node.gpus.rend() && left > 0; ++gpu) {
    if (ours.contains(gpu->uuid) || taken.contains(gpu->uuid)) continue;
    taken[gpu->uuid] = fmt::format("Slurm job {} of {} has it", job.id, job.user);
    --left;
  }
}

// GPUs of jobs that are not ours, and of nodes that take no new jobs while ours run on there.
std::map<std::string, std::string> SlurmControl::Taken() const {
  std::map<std::string, std::string> taken;
  for (const auto& [name, here] : nodes_) {
    if (!here.told_up || here.slurm.up) continue;
    for (const core::GivenGpu& gpu : here.node.gpus) {
      taken[gpu.uuid] =
          fmt::format("node {} takes no new jobs: {}", name,
                      here.slurm.reason.empty() ? "see `scontrol show node`" : here.slurm.reason);
    }
  }
  for (const auto& [id, known] : known_) {
    if (!known.line || !known.job || runs_.contains(id) || !HasNodes(known.line->phase)) continue;
    const SlurmJob& job = *known.job;
    if (options_.dry_run && known.told) continue;
    if (job.slots.empty() && job.held_slots.empty() && job.gres.find("gpu") == std::string::npos) {
      continue;
    }
    for (const std::string& node : job.nodes) {
      const auto here = nodes_.find(node);
      if (here == nodes_.end()) continue;
      if (here->second.plain) {
        TakePlain(job, here->second, taken);
        continue;
      }
      const auto told = job.held_slots.find(node);
      for (const core::GivenGpu& gpu : here->second.node.gpus) {
        const std::string slot = gpu.uuid.substr(gpu.uuid.find('/') + 1);
        const auto same = [&](const SlurmSlot& one) { return one.slot == slot; };
        const bool named = job.gres.find("gpu:" + slot) != std::string::npos;
        const bool any_named = job.gres.find("gpu:g") != std::string::npos;
        bool has = std::any_of(job.slots.begin(), job.slots.end(), same) || named ||
                   (job.slots.empty() && !any_named);
        if (told != job.held_slots.end())
          has = std::count(told->second.begin(), told->second.end(), slot) > 0;
        if (has) taken[gpu.uuid] = fmt::format("Slurm job {} of {} has it", id, job.user);
      }
    }
  }
  return taken;
}

bool SlurmControl::HasRuns(const std::string& node) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const auto& one) {
    const auto& nodes = one.second.request.nodes;
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  });
}

}  // namespace sharewell::engine
