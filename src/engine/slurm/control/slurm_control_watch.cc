// What is looked after beside placing: time limits, and places that Slurm forgot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/result.h"
#include "engine/slurm/control/slurm_control.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

// Slurm counts limits in minutes: most of what a job loses changes nothing there. Kept until Slurm
// has taken it.
Result<void> SlurmControl::SendLimits() {
  for (auto it = limits_.begin(); it != limits_.end();) {
    const auto [id, limit] = *it;
    const auto found = runs_.find(id.job);
    const auto minutes = static_cast<std::int64_t>(std::ceil(limit.value / 60));
    const bool there = found != runs_.end() && found->second.request.id == id;
    if (!there || minutes <= found->second.limit_minutes) {
      it = limits_.erase(it);
      continue;
    }
    const std::string line = fmt::format("update JobId={} TimeLimit={}", NameOf(id.job),
                                         SlurmTime(Seconds(static_cast<double>(minutes) * 60)));
    if (options_.dry_run) {
      options_.log("dry run: scontrol " + line);
    } else {
      const auto complaint = client_.Control({line});
      RETURN_IF_ERROR(complaint);
      if (!complaint->empty()) {
        Emit(RunNote{id, fmt::format("it shares its GPU, and Slurm refuses to extend its time "
                                     "limit to {} minutes: {}",
                                     minutes, *complaint)});
      }
    }
    found->second.limit_minutes = minutes;
    it = limits_.erase(it);
  }
  return {};
}

// Whether it was given GPUs and runs without any because slurmctld forgot them. What somebody else
// has set is not undone: nodes of theirs, or GPUs that they took while our note stands there.
bool SlurmControl::LostItsPlace(const SlurmJob& job, const JobNote& given) const {
  if (!given.put || given.put->nodes.front().slots.empty()) return false;
  if (!job.slots.empty() || !job.gres.empty()) return false;
  if (job.required_nodes.empty()) return true;
  const auto note = NoteIn(job, place_options().admin);
  const auto is_ours = [&](const std::string& node) {
    return std::any_of(given.put->nodes.begin(), given.put->nodes.end(),
                       [&](const JobNote::OnNode& on) { return on.node == node; });
  };
  // Of a hold and a clearing one may have come before slurmctld was killed and one after it.
  return note && !note->put &&
         std::all_of(job.required_nodes.begin(), job.required_nodes.end(), is_ours);
}

// A slurmctld that was killed between a check and the release may have forgotten the place and yet
// carry the release out: commands wait for one that comes back. So what has begun is read once.
Result<void> SlurmControl::LookAtBegun(const std::vector<std::int64_t>& released) {
  constexpr std::size_t kMostAtOnce = 500;  // as many as are placed at once
  std::vector<std::int64_t> begun;
  std::vector<std::string> names;
  for (const std::int64_t job : released) {
    const SlurmQueueLine* line = LineOf(job);
    Run& run = runs_.at(job);
    if (line == nullptr || line->phase != SlurmPhase::kRunning ||
        run.place != Run::Place::kUnread) {
      continue;
    }
    if (begun.size() == kMostAtOnce) break;
    begun.push_back(job);
    names.push_back(NameOf(job));
  }
  if (begun.empty()) return {};
  auto read = client_.Check(begun, names);
  RETURN_IF_ERROR(read);
  for (const SlurmJob& job : *read) {
    if (job.phase != SlurmPhase::kRunning || !runs_.contains(job.id)) continue;
    Run& run = runs_.at(job.id);
    run.place = LostItsPlace(job, run.note) ? Run::Place::kWrong : Run::Place::kRight;
  }
  return {};
}

// It runs without its GPU: it comes back, and is placed anew.
Result<void> SlurmControl::TakeBack(std::int64_t job) {
  Run& run = runs_.at(job);
  if (LineOf(job)->phase != SlurmPhase::kPending) {
    if (run.asked && now_ < *run.asked + options_.again_after) return {};
    run.asked = now_;
    const auto complaint = client_.Control({"requeuehold " + NameOf(job)});
    RETURN_IF_ERROR(complaint);
    return {};
  }
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held)
    Refuse(job, "slurmctld was started again, forgot its place and ran it without its GPU");
  return {};
}

}  // namespace sharewell::engine
