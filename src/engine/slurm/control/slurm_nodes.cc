#include "engine/slurm/control/slurm_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/text/words.h"

namespace sharewell::engine {

using core::Result;

void SlurmNodes::Remark(const std::string& words) {
  if (book_.IsNewRemark(words) && read_) book_.options().log(words);
}

Result<bool> SlurmNodes::ReadAgain() {
  if (read_ && book_.now() < *read_ + book_.options().nodes_every) return false;
  RETURN_IF_ERROR(Read(false));
  return true;
}

Result<void> SlurmNodes::Read(bool first) {
  auto nodes = book_.client().Nodes();
  RETURN_IF_ERROR(nodes);
  std::set<std::string> there;
  for (SlurmNode& node : *nodes) {
    there.insert(node.name);
    HandleNode(std::move(node), first);
  }
  for (auto& [name, here] : book_.nodes()) {
    if (there.contains(name) || !here.told_up) continue;
    here.told_up = here.slurm.up = false;
    book_.Emit(NodeWent{name, "Slurm has it no more"});
  }
  ReadReservations();
  ReadShares();
  for (auto& [name, here] : book_.nodes()) {
    if (here.usable) EmitReserved(here);
    if (here.usable) EmitWatched(here);
  }
  if (first) RemarkOnAgents();
  read_ = book_.now();
  return {};
}

// Later on each node's own event says so.
void SlurmNodes::RemarkOnAgents() {
  std::vector<std::string> alone;
  for (const auto& [name, here] : book_.nodes()) {
    if (here.told_up && here.node.exclusive && !here.plain) alone.push_back(name);
  }
  if (alone.empty()) return;
  Remark(fmt::format(
      "no agent is heard on {}: until one is, each GPU there is given to one job at a time; run "
      "`sharewell monitor` there, with the store of this server",
      fmt::join(alone, ", ")));
}

void SlurmNodes::HandleGpus(const SlurmNode& node, SlurmNodeHere& here) {
  const auto model = ModelOfNode(node, book_.options().model);
  const std::string others = core::Count(static_cast<std::uint64_t>(node.other_gpus), "GPU");
  std::vector<std::string> slots = node.slots;
  if (slots.empty()) {
    for (int i = 0; i < node.other_gpus; ++i) slots.push_back(PlainGpu(i));
    here.plain = !slots.empty();
  }
  here.node.exclusive = here.plain;
  if (slots.empty()) return;
  if (!here.plain && book_.options().watched)
    here.node.exclusive = !book_.options().watched(node.name);
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
  book_.AddModel(model->name);
  here.node.gpu_memory = model->memory;
  for (const std::string& slot : slots) {
    book_.AddGpu(SlurmGpuUuid(node.name, slot), model->name, here.node);
  }
}

void SlurmNodes::HandleNode(SlurmNode node, bool first) {
  SlurmNodeHere& here = book_.nodes()[node.name];
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
  for (const core::GivenGpu& gpu : here.node.gpus) book_.taken().erase(gpu.uuid);
  if (here.slurm.up) return book_.Emit(NodeCame{here.node});
  book_.Emit(NodeWent{here.node.name,
                      fmt::format("{}{}{}", fmt::join(here.slurm.states, "+"),
                                  here.slurm.reason.empty() ? "" : ": ", here.slurm.reason)});
}

core::Bytes SlurmNodes::GpuMemoryOf(const RunRequest& request) const {
  if (request.gpus.empty()) return core::Bytes(0);
  const std::string& uuid = request.gpus.front().uuid;
  const auto here = book_.nodes().find(uuid.substr(0, uuid.find('/')));
  return here == book_.nodes().end() ? core::Bytes(0) : here->second.node.gpu_memory;
}

bool SlurmNodes::HasRuns(const std::string& node) const {
  return std::any_of(book_.runs().begin(), book_.runs().end(), [&](const auto& one) {
    const auto& nodes = one.second.request.nodes;
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  });
}

// Nodes of a reservation that holds now. Where Slurm does not tell, what was told before stays.
void SlurmNodes::ReadReservations() {
  auto read = book_.client().Reservations();
  if (!read) return Remark("reservations cannot be read: " + read.error().message);
  std::map<std::string, SlurmReservation> now;
  for (SlurmReservation& one : *read) now[one.name] = std::move(one);
  const core::UnixMillis wall = book_.options().wall();
  const bool to_come =
      std::any_of(now.begin(), now.end(), [&](const auto& one) { return one.second.start > wall; });
  auto limits = to_come ? book_.client().PartitionLimits() : partition_limits_;
  if (!limits) Remark("partitions cannot be read: " + limits.error().message);
  if (now == reservations_ && limits.value_or(partition_limits_) == partition_limits_) return;
  reservations_ = std::move(now);
  partition_limits_ = limits.value_or(partition_limits_);
  ++terms_version_;
}

void SlurmNodes::ReadShares() {
  if (shares_read_ && book_.now() < *shares_read_ + book_.options().shares_every) return;
  shares_read_ = book_.now();
  SlurmShares now = book_.client().Shares();
  SlurmPreemption preemption = book_.client().Preemption();
  if (!RanksSayIt(preemption)) {
    Remark(
        "which QOS of Slurm preempts which is more than an order of them: no job of Sharewell's "
        "queue gives way to another; see `sacctmgr show qos format=Name,Preempt`");
    preemption = {};
  }
  if (now == shares_ && preemption == preemption_) return;
  shares_ = std::move(now);
  preemption_ = std::move(preemption);
  ++terms_version_;
}

void SlurmNodes::PutRank(const SlurmJob& job, StartTerms& terms) const {
  const PreemptRank rank = RankOf(job.qos, preemption_);
  terms.priority = rank.rank;
  terms.preempts = rank.preempts;
  terms.keeps_place = rank.keeps_place;
}

std::string SlurmNodes::ReservedBy(const std::string& node) const {
  const core::UnixMillis now = book_.options().wall();
  for (const auto& [name, one] : reservations_) {
    if (one.start > now || (one.end && *one.end <= now)) continue;
    if (std::find(one.nodes.begin(), one.nodes.end(), node) != one.nodes.end()) return name;
  }
  return {};
}

void SlurmNodes::EmitReserved(SlurmNodeHere& here) {
  const std::string by = ReservedBy(here.slurm.name);
  const bool reserved = here.slurm.reserved || !by.empty();
  if (std::exchange(here.node.reserved, reserved) == reserved) return;
  ++terms_version_;
  if (!book_.listens()) return;
  if (!here.told_up) return;
  book_.Emit(NodeChanged{here.slurm.name, reserved, here.node.exclusive,
                         reserved
                             ? fmt::format("it is reserved ({}): only jobs with that reservation "
                                           "run there",
                                           by.empty() ? "see `scontrol show reservation`" : by)
                             : "it is not reserved any more"});
}

void SlurmNodes::EmitWatched(SlurmNodeHere& here) {
  if (!book_.options().watched || here.plain || here.node.gpus.empty()) return;
  const bool alone = !book_.options().watched(here.slurm.name);
  if (std::exchange(here.node.exclusive, alone) == alone || !book_.listens()) return;
  if (!here.told_up) return;
  book_.Emit(
      NodeChanged{here.slurm.name, here.node.reserved, alone,
                  alone ? "no agent is heard there any more: each of its GPUs is given to one job "
                          "at a time"
                        : "its agent is heard: jobs may share its GPUs"});
}

SlurmFacts SlurmNodes::Facts() const {
  SlurmFacts facts;
  facts.now = book_.options().wall();
  facts.reservations = reservations_;
  facts.partition_limits = partition_limits_;
  for (const auto& [name, here] : book_.nodes()) {
    if (!here.told) continue;
    SlurmFacts::Node node{name,
                          here.node.gpus.empty() ? "" : here.node.gpus.front().model,
                          static_cast<int>(here.node.gpus.size()),
                          here.plain,
                          {},
                          here.slurm.features,
                          here.node.reserved};
    for (const core::GivenGpu& gpu : here.node.gpus) {
      node.slots.push_back(gpu.uuid.substr(gpu.uuid.rfind('/') + 1));
    }
    facts.nodes.push_back(std::move(node));
  }
  return facts;
}

}  // namespace sharewell::engine
