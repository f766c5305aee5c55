#include "engine/slurm/control/slurm_placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_cores.h"
#include "engine/slurm/control/slurm_hold.h"
#include "engine/slurm/control/slurm_reasons.h"

namespace sharewell::engine {

using core::Result;

namespace {

// So that releases come steadily, and no command takes longer than its limit: an update or a
// release takes slurmctld about a millisecond.
constexpr std::size_t kMostPlacedAtOnce = 500;
// More than these are a wave: it goes look by look, so that what has begun is seen meanwhile.
constexpr std::size_t kFewStarts = 200;

}  // namespace

// Slurm would never start it there, and say BadConstraints. Empty: it could.
std::string SlurmPlacer::LacksKept(const JobNote::Put& put) const {
  for (const JobNote::OnNode& on : put.nodes) {
    const auto here = book_.nodes().find(on.node);
    if (here == book_.nodes().end()) continue;
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

SlurmPlacer::ShardCounts SlurmPlacer::FreeShards() const {
  ShardCounts free;
  for (const auto& [job, run] : book_.runs()) {
    if (!run.note.put) continue;
    for (const auto& [uuid, shards] : ShardsOf(*run.note.put)) {
      free.try_emplace(uuid, kShardsOfGpu).first->second -= shards;
    }
  }
  return free;
}

Result<bool> SlurmPlacer::ReadyToPlace(std::int64_t job, ShardCounts& free) {
  SlurmRun& run = book_.runs().at(job);
  const auto found = book_.jobs().find(job);
  if (found == book_.jobs().end() || !found->second.line || !found->second.job) {
    if (found != book_.jobs().end() && found->second.line) return false;  // it is read next time
    // Cancelled, taken elsewhere, or over before this server came: with accounting it is known how.
    RETURN_IF_ERROR(ends_.LookAtEnd(job));
    return false;
  }
  SlurmKnown& known = found->second;
  if (run.wanted == WantedRun::kCancel) return false;  // its end is on its way
  if (WaitsHeldByOthers(*known.line) && !book_.options().dry_run) {
    ends_.EndHeld(job);
    return false;
  }
  if (!WaitsHeldByUs(*known.line) && !book_.options().dry_run) {
    // Between the decision and now somebody else has released it.
    ends_.EndTaken(job, std::string(kReleasedByOthers), "somebody else released it in Slurm");
    return false;
  }
  if (run.wanted == WantedRun::kStop) {
    ends_.Refuse(job, {});
    return false;
  }
  const auto was_here = [&](const std::string& node) {
    return std::find(known.left_nodes.begin(), known.left_nodes.end(), node) !=
           known.left_nodes.end();
  };
  if (book_.now() < known.left_at + book_.options().back_after &&
      std::any_of(run.request.nodes.begin(), run.request.nodes.end(), was_here)) {
    return false;  // soon
  }
  if (!known.note) {
    ends_.Refuse(job,
                 "its note in Slurm cannot be read: " + core::Quoted(known.job->admin_comment));
    return false;
  }
  return PutPlace(run, known, free);
}

// What its user says of its memory, or what is predicted, may be wrong: where it comes beside
// others it may take what they do not need, in MiB, and no more. Absent: that is not known, or it
// has a limit of its own, or nobody is there.
std::optional<long> SlurmPlacer::LimitBesideOthers(const RunRequest& request) const {
  const core::Bytes memory = nodes_.GpuMemoryOf(request);
  if (!request.shares || request.gpu_memory || !request.expected_memory) return std::nullopt;
  if (request.gpus.size() != 1 || memory.value <= 0) return std::nullopt;
  core::Bytes left = memory;
  bool alone = true;
  for (const auto& [id, run] : book_.runs()) {
    const RunRequest& other = run.request;
    const bool there = std::any_of(
        other.gpus.begin(), other.gpus.end(),
        [&](const core::GivenGpu& gpu) { return gpu.uuid == request.gpus.front().uuid; });
    if (!there || id == request.id.job) continue;
    const auto& needs = other.gpu_memory ? other.gpu_memory : other.expected_memory;
    if (!needs) return std::nullopt;
    left = left - *needs;
    alone = false;
  }
  if (alone || left < *request.expected_memory) return std::nullopt;
  return static_cast<long>(left.value / (1 << 20));
}

// What it is given, into its note.
bool SlurmPlacer::PutPlace(SlurmRun& run, const SlurmKnown& known, ShardCounts& free) {
  const std::int64_t job = run.request.id.job;
  // Of an earlier try.
  for (const auto& [uuid, shards] : run.note.put ? ShardsOf(*run.note.put) : ShardCounts()) {
    free.try_emplace(uuid, kShardsOfGpu).first->second += shards;
  }
  run.note.put.reset();
  auto put = PutOf(run.request, *known.job, known.note->put, free, nodes_.GpuMemoryOf(run.request));
  if (!put) {
    ends_.Refuse(job, put.error().message);
    return false;
  }
  // A new server may have decided before it heard on which nodes alone the job can run.
  if (const std::string lacks = LacksKept(*put); !lacks.empty()) {
    ends_.Refuse(job, lacks);
    return false;
  }
  run.note = *known.note;
  run.note.put = std::move(*put);
  if (!run.note.put->gpu_memory_mib) run.note.put->gpu_memory_mib = LimitBesideOthers(run.request);
  PutCpus(run.request.cores, *known.job, run.note);
  for (const auto& [uuid, shards] : ShardsOf(*run.note.put)) {
    free.try_emplace(uuid, kShardsOfGpu).first->second -= shards;
  }
  return true;
}

Result<void> SlurmPlacer::Place() {
  std::vector<std::int64_t> all, placed;
  for (const auto& [job, run] : book_.runs()) {
    if (run.step == SlurmRun::Step::kPlace) all.push_back(job);
  }
  std::vector<std::string> lines;
  placed_ = false;
  ShardCounts free = all.empty() ? ShardCounts() : FreeShards();
  for (const std::int64_t job : all) {
    if (placed.size() >= kMostPlacedAtOnce) break;
    const auto ready = ReadyToPlace(job, free);
    RETURN_IF_ERROR(ready);
    if (!*ready) continue;
    SlurmKnown& known = book_.jobs().at(job);
    SlurmRun& run = book_.runs().at(job);
    auto own = PlaceLines(*known.job, run.note, book_.place_options());
    if (!own) {
      ends_.Refuse(job, own.error().message);
      continue;
    }
    if (book_.options().dry_run) {
      PlaceOnPaper(run, *own);
      continue;
    }
    if (known.shows_reason || IsShownReason(known.job->comment)) own->back() += " Comment=";
    lines.insert(lines.end(), own->begin(), own->end());
    placed.push_back(job);
    // Whatever is answered: it may have had these slots from now on.
    known.note = run.note;
    known.shows_reason = false;
  }
  if (placed.empty()) return {};
  placed_ = true;
  const auto complaint = book_.client().Control(lines);
  RETURN_IF_ERROR(complaint);
  return CheckAndRelease(placed);
}

void SlurmPlacer::PlaceOnPaper(SlurmRun& run, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) book_.options().log("dry run: scontrol " + line);
  book_.options().log("dry run: scontrol release " + jobs_.NameOf(run.request.id.job));
  run.step = SlurmRun::Step::kRunning;
  ends_.EmitStarted(run);
}

Result<void> SlurmPlacer::CheckAndRelease(const std::vector<std::int64_t>& placed) {
  std::vector<std::string> names;
  for (const std::int64_t job : placed) names.push_back(jobs_.NameOf(job));
  auto read = book_.client().Check(placed, names);
  RETURN_IF_ERROR(read);
  for (SlurmJob& job : *read) {
    SlurmKnown& known = book_.jobs()[job.id];
    jobs_.HandleLater(known, std::move(job));
  }
  std::vector<std::string> releases;
  for (const std::int64_t job : placed) {
    const SlurmKnown& known = book_.jobs().at(job);
    const JobNote& note = book_.runs().at(job).note;
    if (known.line && WaitsHeldByOthers(*known.line)) {
      ends_.EndHeld(job);  // an admin was quicker: a release of ours would lift their hold
      continue;
    }
    const bool cores_differ =
        note.ask.cpus > 0 && known.job->cpus != static_cast<int>(note.put->cores);
    if (cores_differ || !WhatDiffers(*known.job, note, book_.place_options()).empty()) {
      RETURN_IF_ERROR(PlaceAlone(job));
      if (!book_.runs().contains(job)) continue;
    }
    SlurmRun& run = book_.runs().at(job);
    // Before it is said: the answer may be lost.
    run.step = SlurmRun::Step::kReleased;
    run.since = book_.now();
    run.asked.reset();
    releases.push_back("release " + jobs_.NameOf(job));
  }
  const auto released = book_.client().Control(releases);
  RETURN_IF_ERROR(released);
  return {};
}

Result<void> SlurmPlacer::PlaceSoon() {
  std::vector<std::int64_t> jobs;
  std::vector<std::string> names;
  for (const auto& [job, run] : book_.runs()) {
    const auto known = book_.jobs().find(job);
    if (run.step != SlurmRun::Step::kPlace || run.wanted != WantedRun::kNothing) continue;
    if (known == book_.jobs().end() || !known->second.line || !known->second.job) continue;
    jobs.push_back(job);
    names.push_back(jobs_.NameOf(job));
  }
  if (jobs.size() > kFewStarts) placed_ = true;  // the next look places them, at once
  if (jobs.empty() || jobs.size() > kFewStarts) return {};
  auto read = book_.client().Check(jobs, names);
  RETURN_IF_ERROR(read);
  std::map<std::int64_t, SlurmQueueLine> lines;
  for (const std::int64_t job : jobs) {
    lines[job] = *std::exchange(book_.jobs().at(job).line, std::nullopt);
  }
  for (SlurmJob& job : *read) {
    if (IsOver(job.phase)) continue;
    SlurmKnown& known = book_.jobs().at(job.id);
    known.line = std::move(lines.at(job.id));
    jobs_.HandleLater(known, std::move(job));
  }
  return Place();
}

// What Slurm says of several in one go does not say of which.
Result<void> SlurmPlacer::PlaceAlone(std::int64_t job) {
  SlurmRun& run = book_.runs().at(job);
  std::vector<std::string> lines = ClearLines(*book_.jobs().at(job).job);
  auto own = PlaceLines(*book_.jobs().at(job).job, run.note, book_.place_options());
  RETURN_IF_ERROR(own);
  lines.insert(lines.end(), own->begin(), own->end());
  const auto complaint = book_.client().Control(lines);
  RETURN_IF_ERROR(complaint);
  auto read = book_.client().Check({job}, {jobs_.NameOf(job)});
  RETURN_IF_ERROR(read);
  std::string differs = "Slurm does not show it";
  if (!read->empty()) {
    jobs_.Handle(book_.jobs()[job], std::move(read->front()));
    differs = WhatDiffers(*book_.jobs().at(job).job, run.note, book_.place_options());
  }
  if (differs.empty()) return {};
  const std::string why = complaint->empty() ? "" : ": " + *complaint;
  const auto cleared = book_.client().Control(ClearLines(*book_.jobs().at(job).job));
  RETURN_IF_ERROR(cleared);
  ends_.Refuse(job, fmt::format("Slurm did not take its place{} ({})", why, differs));
  return {};
}

}  // namespace sharewell::engine
