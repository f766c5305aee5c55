#include "engine/slurm/control/slurm_taken.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace sharewell::engine {
namespace {

bool HasNodes(SlurmPhase phase) {
  return phase == SlurmPhase::kConfiguring || phase == SlurmPhase::kRunning ||
         phase == SlurmPhase::kSuspended || phase == SlurmPhase::kCompleting;
}

}  // namespace

void SlurmTaken::EmitChanges() {
  book_.EmitChanged(GpusTaken());
  EmitHostTaken();
}

// CPUs and memory of jobs that are not ours.
void SlurmTaken::EmitHostTaken() {
  if (book_.options().dry_run) return;  // jobs that Slurm runs are ours there
  std::map<std::int64_t, SlurmStrangers::Holder> holders;
  for (const auto& [id, known] : book_.jobs()) {
    if (!known.line || known.line->nodes.empty() || IsOver(known.line->phase)) continue;
    holders[id] = {known.line->nodes, known.line->cpus,
                   known.job ? known.job->memory : std::nullopt, book_.runs().contains(id)};
  }
  std::vector<const SlurmNode*> read;
  for (const auto& [name, here] : book_.nodes()) {
    if (nodes_.were_read_now()) read.push_back(&here.slurm);
  }
  strangers_.Take(std::move(holders), read);
  std::map<std::string, StrangersUse> taken = strangers_.Taken();
  std::erase_if(taken, [&](const auto& one) {
    const auto here = book_.nodes().find(one.first);
    return here == book_.nodes().end() || !here->second.told_up;
  });
  const auto tell = [&](const std::string& name, const StrangersUse& now) {
    book_.Emit(HostTaken{name, static_cast<double>(now.cpus), now.memory});
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

std::string SlurmTaken::HeldBy(const SlurmJob& job) const {
  if (book_.options().private_jobs) return "another Slurm job has it";
  return fmt::format("Slurm job {} of {} has it", job.id, job.user);
}

// As many as it has, of those that none of our runs counts as its own.
void SlurmTaken::TakePlain(const SlurmJob& job, const SlurmNodeHere& here,
                           std::map<std::string, std::string>& taken) const {
  std::set<std::string> ours;
  for (const auto& [id, run] : book_.runs()) {
    for (const core::GivenGpu& gpu : run.request.gpus) ours.insert(gpu.uuid);
  }
  int left = PlainGpusIn(job);
  for (auto gpu = here.node.gpus.rbegin(); gpu != here.node.gpus.rend() && left > 0; ++gpu) {
    if (ours.contains(gpu->uuid) || taken.contains(gpu->uuid)) continue;
    taken[gpu->uuid] = HeldBy(job);
    --left;
  }
}

// Whose GPUs are nobody else's while it has its nodes.
void SlurmTaken::TakeJob(const SlurmJob& job, std::map<std::string, std::string>& taken) const {
  if (job.slots.empty() && job.held_slots.empty() && job.gres.find("gpu") == std::string::npos) {
    return;
  }
  for (const std::string& node : job.nodes) {
    const auto here = book_.nodes().find(node);
    if (here == book_.nodes().end()) continue;
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
      if (told != job.held_slots.end()) {
        has = std::count(told->second.begin(), told->second.end(), slot) > 0;
      }
      if (has) taken[gpu.uuid] = HeldBy(job);
    }
  }
}

// Jobs of other partitions over the same nodes: their GPUs Slurm gives out without us. Each is read
// once, when it has its nodes.
core::Result<void> SlurmTaken::ReadElsewhere() {
  constexpr std::size_t kMostRead = 200;  // the rest with the next look at the nodes
  if (!nodes_.were_read_now()) return {};
  const bool is_shared =
      std::any_of(book_.nodes().begin(), book_.nodes().end(),
                  [](const auto& one) { return one.second.slurm.partitions.size() > 1; });
  if (!is_shared) {
    elsewhere_.clear();
    return {};
  }
  const auto lines = book_.client().QueueElsewhere();
  RETURN_IF_ERROR(lines);
  std::set<std::int64_t> there;
  std::vector<std::int64_t> read;
  std::vector<std::string> names;
  for (const SlurmQueueLine& line : *lines) {
    const bool is_here = std::any_of(line.nodes.begin(), line.nodes.end(), [&](const auto& node) {
      return book_.nodes().contains(node);
    });
    if (!is_here || !there.insert(line.id).second) continue;
    if (elsewhere_.contains(line.id) || read.size() == kMostRead) continue;
    read.push_back(line.id);
    names.push_back(fmt::format("{}", line.id));
  }
  std::erase_if(elsewhere_, [&](const auto& one) { return !there.contains(one.first); });
  if (read.empty()) return {};
  auto jobs = book_.client().Check(read, names);
  RETURN_IF_ERROR(jobs);
  for (SlurmJob& job : *jobs) {
    if (there.contains(job.id)) elsewhere_[job.id] = std::move(job);
  }
  return {};
}

// GPUs of jobs that are not ours, and of nodes that take no new jobs while ours run on there.
std::map<std::string, std::string> SlurmTaken::GpusTaken() const {
  std::map<std::string, std::string> taken;
  for (const auto& [name, here] : book_.nodes()) {
    if (!here.told_up || here.slurm.up) continue;
    for (const core::GivenGpu& gpu : here.node.gpus) {
      taken[gpu.uuid] =
          fmt::format("node {} takes no new jobs: {}", name,
                      here.slurm.reason.empty() ? "see `scontrol show node`" : here.slurm.reason);
    }
  }
  for (const auto& [id, known] : book_.jobs()) {
    if (!known.line || !known.job || book_.runs().contains(id) || !HasNodes(known.line->phase))
      continue;
    if (book_.options().dry_run && known.told) continue;
    TakeJob(*known.job, taken);
  }
  for (const auto& [id, job] : elsewhere_) TakeJob(job, taken);
  return taken;
}

}  // namespace sharewell::engine
