// What Slurm itself keeps jobs waiting for, and the nodes that are kept for some.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/slurm/control/slurm_control.h"
#include "engine/slurm/read/slurm_terms.h"

namespace sharewell::engine {

using core::Result;

SlurmIsThere SlurmControl::IsThere() const {
  return [this](std::int64_t id, std::optional<std::int64_t> task, bool pending) {
    return std::any_of(known_.begin(), known_.end(), [&](const auto& one) {
      const Known& known = one.second;
      if (!known.line || (pending && known.line->phase != SlurmPhase::kPending)) return false;
      if (one.first == id && !task) return true;
      if (!known.job || known.job->array != id) return false;
      return !task || !known.job->array_task || known.job->array_task == task;
    });
  };
}

bool SlurmControl::WaitsForUs(const SlurmJob& job) const {
  return engine::WaitsForUs(job, options_.wall(), IsThere());
}

// Nodes of a reservation that holds now. Where Slurm does not tell, what was told before stays.
void SlurmControl::ReadReservations() {
  auto read = client_.Reservations();
  if (!read) return Remark("reservations cannot be read: " + read.error().message);
  std::map<std::string, SlurmReservation> now;
  for (SlurmReservation& one : *read) now[one.name] = std::move(one);
  const core::UnixMillis wall = options_.wall();
  const bool to_come =
      std::any_of(now.begin(), now.end(), [&](const auto& one) { return one.second.start > wall; });
  auto limits = to_come ? client_.PartitionLimits() : partition_limits_;
  if (!limits) Remark("partitions cannot be read: " + limits.error().message);
  if (now == reservations_ && limits.value_or(partition_limits_) == partition_limits_) return;
  reservations_ = std::move(now);
  partition_limits_ = limits.value_or(partition_limits_);
  ++terms_version_;
}

void SlurmControl::ReadShares() {
  if (shares_read_ && now_ < *shares_read_ + options_.shares_every) return;
  shares_read_ = now_;
  SlurmShares now = client_.Shares();
  if (now == shares_) return;
  shares_ = std::move(now);
  ++terms_version_;
}

std::string SlurmControl::ReservedBy(const std::string& node) const {
  const core::UnixMillis now = options_.wall();
  for (const auto& [name, one] : reservations_) {
    if (one.start > now || (one.end && *one.end <= now)) continue;
    if (std::find(one.nodes.begin(), one.nodes.end(), node) != one.nodes.end()) return name;
  }
  return {};
}

void SlurmControl::EmitReserved(NodeHere& here) {
  const std::string by = ReservedBy(here.slurm.name);
  const bool reserved = here.slurm.reserved || !by.empty();
  if (std::exchange(here.node.reserved, reserved) == reserved) return;
  ++terms_version_;
  if (out_ == nullptr) return;
  if (!here.told_up) return;
  Emit(NodeChanged{here.slurm.name, reserved, here.node.exclusive,
                   reserved ? fmt::format("it is reserved ({}): only jobs with that reservation "
                                          "run there",
                                          by.empty() ? "see `scontrol show reservation`" : by)
                            : "it is not reserved any more"});
}

void SlurmControl::EmitWatched(NodeHere& here) {
  if (!options_.watched || here.plain || here.node.gpus.empty()) return;
  const bool alone = !options_.watched(here.slurm.name);
  if (std::exchange(here.node.exclusive, alone) == alone || out_ == nullptr) return;
  if (!here.told_up) return;
  Emit(NodeChanged{here.slurm.name, here.node.reserved, alone,
                   alone ? "no agent is heard there any more: each of its GPUs is given to one job "
                           "at a time"
                         : "its agent is heard: jobs may share its GPUs"});
}

SlurmFacts SlurmControl::Facts() const {
  SlurmFacts facts;
  facts.now = options_.wall();
  facts.is_there = IsThere();
  facts.reservations = reservations_;
  facts.partition_limits = partition_limits_;
  for (const auto& [name, here] : nodes_) {
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

StartTerms SlurmControl::TermsNow(const Known& known, const SlurmFacts& facts) const {
  const ForeignJob foreign = SubmissionOf(*known.job, *known.note, options_.model);
  const bool kept = now_ < known.kept_until;
  StartTerms terms =
      TermsOf(*known.job, *known.note, foreign.asked.gpu_models, kept ? known.kept : "", facts);
  terms.weight = WeightOf(*known.job, shares_);
  return terms;
}

// Looked at again when the nodes are others, and when the time has come.
void SlurmControl::EmitTerms(std::int64_t id, Known& known, const SlurmFacts& facts) {
  if (!known.note) return;
  if (known.terms_version == terms_version_ && facts.now < known.terms_until) return;
  known.terms_version = terms_version_;
  known.terms_until = TermsHoldUntil(*known.job, now_ < known.kept_until ? known.kept : "", facts);
  StartTerms terms = TermsNow(known, facts);
  if (known.terms.value_or(StartTerms()) != terms) {
    Emit(TermsChanged{id, terms});
  }
  known.terms = std::move(terms);
}

// It was released, and Slurm has a reason of its own not to start it, which no other place mends.
Result<bool> SlurmControl::IsKept(std::int64_t job, const SlurmQueueLine& line) {
  constexpr core::Seconds kKeptAfter(2), kTriedAgain(60);
  Run& run = runs_.at(job);
  Known& known = known_.at(job);
  const bool put_back = line.reason == "BeginTime" && known.job && known.job->restarts > 0;
  if (put_back || !SlurmKeeps(line.reason) || now_ < run.since + kKeptAfter) return false;
  const std::string reason = line.reason;
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (!*held) return true;
  known_.at(job).kept = reason;
  known_.at(job).kept_until = now_ + kTriedAgain;
  Refuse(job, "Slurm does not start it: " + reason);
  return true;
}

}  // namespace sharewell::engine
