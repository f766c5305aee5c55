// How a run's place is written, checked and released.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_control.h"
#include "engine/slurm/control/slurm_cores.h"

namespace sharewell::engine {

using core::Result;

namespace {

using ShardCounts = std::map<std::string, int>;

// So that releases come steadily, and no command takes longer than its limit: an update or a
// release takes slurmctld about a millisecond.
constexpr std::size_t kMostPlacedAtOnce = 500;
// More than these are a wave: it goes look by look, so that what has begun is seen meanwhile.
constexpr std::size_t kFewStarts = 200;

}  // namespace

// Slurm would never start it there, and say BadConstraints. Empty: it could.
std::string SlurmControl::LacksKept(const JobNote::Put& put) const {
  for (const JobNote::OnNode& on : put.nodes) {
    const auto here = nodes_.find(on.node);
    if (here == nodes_.end()) continue;
    const auto& slots = here->second.slurm.slots;
    for (const std::string& kept : put.kept) {
      if (std::find(slots.begin(), slots.end(), kept) != slots.end()) continue;
      return fmt::format(
          "it was on slot {} before, of which Slurm wants it to keep one shard, and node {} has no "
          "such slot",
          kept, on.node);
    }
  }
  return {};
}

// False: it was refused or has ended, and is not in the book any more; or it is on its way.
Result<bool> SlurmControl::ReadyToPlace(std::int64_t job, std::map<std::string, int>& free) {
  Run& run = runs_.at(job);
  const auto found = known_.find(job);
  if (found == known_.end() || !found->second.line || !found->second.job) {
    if (found != known_.end() && found->second.line) return false;  // it is read next time
    // Cancelled, taken elsewhere, or over before this server came: with accounting it is known how.
    RETURN_IF_ERROR(LookAtEnd(job));
    return false;
  }
  Known& known = found->second;
  if (run.wanted == Wanted::kCancel) return false;  // its end is on its way
  const bool held = known.line->phase == SlurmPhase::kPending && known.line->priority == 0;
  if (!held && !options_.dry_run) {
    // Between the decision and now somebody else has released it.
    known.told = false;
    Emit(JobWithdrawn{job, "somebody else released it in Slurm: it runs without Sharewell"});
    End(job, StoppedEnd("somebody else released it in Slurm"));
    return false;
  }
  if (run.wanted == Wanted::kStop) {
    Refuse(job, {});
    return false;
  }
  const auto was_here = [&](const std::string& node) {
    return std::find(known.left_nodes.begin(), known.left_nodes.end(), node) !=
           known.left_nodes.end();
  };
  if (now_ < known.left_at + options_.back_after &&
      std::any_of(run.request.nodes.begin(), run.request.nodes.end(), was_here)) {
    return false;  // soon
  }
  if (!known.note) {
    Refuse(job, "its note in Slurm cannot be read: " + core::Quoted(known.job->admin_comment));
    return false;
  }
  // Of an earlier try.
  for (const auto& [uuid, shards] : run.note.put ? ShardsOf(*run.note.put) : ShardCounts()) {
    free.try_emplace(uuid, kShardsOfGpu).first->second += shards;
  }
  run.note.put.reset();
  auto put = PutOf(run.request, *known.job, known.note->put, free, GpuMemoryOf(run.request));
  if (!put) {
    Refuse(job, put.error().message);
    return false;
  }
  // A new server may have decided before it heard on which nodes alone the job can run.
  if (const std::string lacks = LacksKept(*put); !lacks.empty()) {
    Refuse(job, lacks);
    return false;
  }
  run.note = *known.note;
  run.note.put = std::move(*put);
  PutCpus(run.request.cores, *known.job, run.note);
  for (const auto& [uuid, shards] : ShardsOf(*run.note.put)) {
    free.try_emplace(uuid, kShardsOfGpu).first->second -= shards;
  }
  return true;
}

Result<void> SlurmControl::Place() {
  std::vector<std::int64_t> all, placed;
  for (const auto& [job, run] : runs_) {
    if (run.step == Step::kPlace) all.push_back(job);
  }
  std::vector<std::string> lines;
  placed_ = false;
  ShardCounts free = all.empty() ? ShardCounts() : FreeShards();
  for (const std::int64_t job : all) {
    if (placed.size() >= kMostPlacedAtOnce) break;
    const auto ready = ReadyToPlace(job, free);
    RETURN_IF_ERROR(ready);
    if (!*ready) continue;
    auto own = PlaceLines(*known_.at(job).job, runs_.at(job).note, place_options());
    if (!own) {
      Refuse(job, own.error().message);
      continue;
    }
    if (options_.dry_run) {
      for (const std::string& line : *own) options_.log("dry run: scontrol " + line);
      options_.log("dry run: scontrol release " + NameOf(job));
      runs_.at(job).step = Step::kRunning;
      EmitStarted(runs_.at(job));
      continue;
    }
    lines.insert(lines.end(), own->begin(), own->end());
    placed.push_back(job);
    // Whatever is answered: it may have had these slots from now on.
    known_.at(job).note = runs_.at(job).note;
  }
  if (placed.empty()) return {};
  placed_ = true;
  const auto complaint = client_.Control(lines);
  RETURN_IF_ERROR(complaint);
  std::vector<std::string> names;
  for (const std::int64_t job : placed) names.push_back(NameOf(job));
  auto read = client_.Check(placed, names);
  RETURN_IF_ERROR(read);
  for (SlurmJob& job : *read) {
    Known& known = known_[job.id];
    HandleJob(known, std::move(job));
  }
  std::vector<std::string> releases;
  for (const std::int64_t job : placed) {
    const Known& known = known_.at(job);
    const JobNote& note = runs_.at(job).note;
    const bool cores_differ =
        note.ask.cpus > 0 && known.job->cpus != static_cast<int>(note.put->cores);
    if (cores_differ || !WhatDiffers(*known.job, note, place_options()).empty()) {
      RETURN_IF_ERROR(PlaceAlone(job));
      if (!runs_.contains(job)) continue;
    }
    Run& run = runs_.at(job);
    // Before it is said: the answer may be lost.
    run.step = Step::kReleased;
    run.since = now_;
    run.asked.reset();
    releases.push_back("release " + NameOf(job));
  }
  const auto released = client_.Control(releases);
  RETURN_IF_ERROR(released);
  return {};
}

// Without a look at the whole queue, which may take longer than a start may wait: those that are to
// be placed are read, and no others.
Result<void> SlurmControl::PlaceSoon() {
  std::vector<std::int64_t> jobs;
  std::vector<std::string> names;
  for (const auto& [job, run] : runs_) {
    const auto known = known_.find(job);
    if (run.step != Step::kPlace || run.wanted != Wanted::kNothing) continue;
    if (known == known_.end() || !known->second.line || !known->second.job) continue;
    jobs.push_back(job);
    names.push_back(NameOf(job));
  }
  if (jobs.size() > kFewStarts) placed_ = true;  // the next look places them, at once
  if (jobs.empty() || jobs.size() > kFewStarts) return {};
  auto read = client_.Check(jobs, names);
  RETURN_IF_ERROR(read);
  std::map<std::int64_t, SlurmQueueLine> lines;
  for (const std::int64_t job : jobs) {
    lines[job] = *std::exchange(known_.at(job).line, std::nullopt);
  }
  for (SlurmJob& job : *read) {
    if (IsOver(job.phase)) continue;
    Known& known = known_.at(job.id);
    known.line = std::move(lines.at(job.id));
    known.line->phase = job.phase;
    known.line->priority = job.priority;
    HandleJob(known, std::move(job));
  }
  return Place();
}

Result<void> SlurmControl::StartMeanwhile() {
  if (!options_.meanwhile()) return {};
  return PlaceSoon();
}

core::Seconds SlurmControl::DoNow(core::Seconds now, std::vector<RunEvent>& out) {
  if (now < again_at_ || !other_server_.empty()) return again_at_;
  now_ = now;
  out_ = &out;
  shown_.clear();
  placed_ = false;
  const auto done = SendStops().and_then([&] { return PlaceSoon(); });
  return done ? NextLook() : Fail(done.error().message);
}

// What Slurm says of several in one go does not say of which.
Result<void> SlurmControl::PlaceAlone(std::int64_t job) {
  Run& run = runs_.at(job);
  std::vector<std::string> lines = ClearLines(*known_.at(job).job);
  auto own = PlaceLines(*known_.at(job).job, run.note, place_options());
  RETURN_IF_ERROR(own);
  lines.insert(lines.end(), own->begin(), own->end());
  const auto complaint = client_.Control(lines);
  RETURN_IF_ERROR(complaint);
  auto read = client_.Check({job}, {NameOf(job)});
  RETURN_IF_ERROR(read);
  std::string differs = "Slurm does not show it";
  if (!read->empty()) {
    HandleJob(known_[job], std::move(read->front()));
    differs = WhatDiffers(*known_.at(job).job, run.note, place_options());
  }
  if (differs.empty()) return {};
  const std::string why = complaint->empty() ? "" : ": " + *complaint;
  const auto cleared = client_.Control(ClearLines(*known_.at(job).job));
  RETURN_IF_ERROR(cleared);
  Refuse(job, fmt::format("Slurm did not take its place{} ({})", why, differs));
  return {};
}

}  // namespace sharewell::engine
