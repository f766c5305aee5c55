// How a run is placed, released, watched and ended, step by step. Each step is done again until
// Slurm shows that it holds.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "engine/slurm/control/slurm_control.h"
#include "engine/slurm/control/slurm_cores.h"
#include "engine/slurm/control/slurm_submission.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

namespace {

constexpr Seconds kReleaseAgain(3);  // where it is still held so long after its release

// It has its nodes, or had them.
bool HasBegun(SlurmPhase phase) {
  return phase == SlurmPhase::kRunning || phase == SlurmPhase::kSuspended ||
         phase == SlurmPhase::kCompleting || IsOver(phase);
}

}  // namespace

std::string SlurmControl::NameOf(std::int64_t job) const {
  const auto found = known_.find(job);
  if (found != known_.end() && found->second.job) return SlurmName(*found->second.job);
  return fmt::format("{}", job);
}

const SlurmQueueLine* SlurmControl::LineOf(std::int64_t job) const {
  const auto found = known_.find(job);
  return found == known_.end() || !found->second.line ? nullptr : &*found->second.line;
}

// Asks for many at once, so that Show need not ask for each.
Result<void> SlurmControl::ShowAll(const std::vector<std::int64_t>& jobs) {
  if (jobs.size() < 2) return {};
  std::vector<std::string> names;
  for (const std::int64_t job : jobs) names.push_back(NameOf(job));
  auto read = client_.Check(jobs, names);
  RETURN_IF_ERROR(read);
  for (const std::int64_t job : jobs) shown_[job].reset();
  for (SlurmJob& job : *read) shown_[job.id] = std::move(job);
  return {};
}

// Absent: Slurm does not remember it.
Result<std::optional<SlurmJob>> SlurmControl::Show(std::int64_t job) {
  if (const auto found = shown_.find(job); found != shown_.end()) {
    std::optional<SlurmJob> shown = std::move(found->second);
    shown_.erase(found);
    return shown;
  }
  auto read = client_.Check({job}, {NameOf(job)});
  RETURN_IF_ERROR(read);
  if (read->empty()) return std::nullopt;
  return std::move(read->front());
}

void SlurmControl::EmitStarted(Run& run) {
  if (std::exchange(run.told_started, true)) return;
  const auto known = known_.find(run.request.id.job);
  run.began = options_.wall();
  if (known != known_.end() && known->second.job && known->second.job->started) {
    run.began = *known->second.job->started;  // of an earlier server: what it told counts
  }
  RunStarted started{run.request.id};
  const SlurmQueueLine* line = LineOf(run.request.id.job);
  if (!options_.dry_run && line != nullptr && line->cpus != 0 && HasBegun(line->phase)) {
    started.cores = line->cpus;
    started.message = CpusInWords(run.note, line->cpus);
  }
  Emit(std::move(started));
}

Result<std::vector<RunRequest>> SlurmControl::Recover() {
  if (options_.dry_run) return std::vector<RunRequest>();
  auto jobs = client_.Jobs({});
  RETURN_IF_ERROR(jobs);
  std::vector<RunRequest> requests;
  for (SlurmJob& job : *jobs) {
    const auto note = Ours(job) ? NoteIn(job, options_.admin) : std::nullopt;
    if (!note || !note->put || IsHeldJob(job)) continue;  // those that are held wait
    const JobNote::Put& put = *note->put;
    const ForeignJob foreign = SubmissionOf(job, *note, options_.model);
    RunRequest request;
    request.id = {job.id, put.attempt};
    request.user = foreign.user;
    request.asked = foreign.asked;
    for (const JobNote::OnNode& on : put.nodes) {
      request.nodes.push_back(on.node);
      for (const std::string& slot : on.slots) {
        request.gpus.push_back(GpuNamed(SlurmGpuUuid(on.node, slot)));
      }
    }
    request.cores = job.phase == SlurmPhase::kRunning && job.cpus > 0 ? job.cpus : put.cores;
    request.shares = !request.gpus.empty() && put.shards < kShardsOfGpu;
    if (put.sm_percent < 100) request.thread_share = put.sm_percent / 100.0;
    if (put.gpu_memory_mib) {
      request.gpu_memory = core::Bytes(static_cast<double>(*put.gpu_memory_mib) * (1 << 20));
      if (put.guest) request.guest_memory = request.gpu_memory;
    }
    requests.push_back(request);
    if (IsOver(job.phase)) {
      if (job.phase == SlurmPhase::kCancelled) {
        found_.push_back(JobWithdrawn{request.id.job, "it was cancelled in Slurm"});
      }
      found_.push_back(RunStarted{request.id});
      found_.push_back(RunEnded{request.id, ended_[request.id] = EndOf(job)});
      continue;
    }
    Run run;
    run.request = std::move(request);
    run.note = *note;
    run.step = job.phase == SlurmPhase::kPending ? Step::kReleased : Step::kRunning;
    run.since = now_;
    runs_.emplace(job.id, std::move(run));
    Known& known = known_[job.id];
    known.told = true;
    known.home = job.partition;
    HandleJob(known, std::move(job));
  }
  return requests;
}

Result<void> SlurmControl::AdvanceRuns() {
  RETURN_IF_ERROR(SendStops());
  RETURN_IF_ERROR(SendLimits());
  RETURN_IF_ERROR(StartMeanwhile());
  std::vector<std::int64_t> released, running;
  for (const auto& [job, run] : runs_) {
    if (run.step == Step::kReleased) released.push_back(job);
    if (run.step == Step::kRunning) running.push_back(job);
  }
  RETURN_IF_ERROR(LookAtBegun(released));
  RETURN_IF_ERROR(StartMeanwhile());
  std::vector<std::int64_t> over;
  for (const auto* some : {&released, &running}) {
    for (const std::int64_t job : *some) {
      const SlurmQueueLine* line = LineOf(job);
      if (line == nullptr || IsOver(line->phase)) over.push_back(job);
    }
  }
  RETURN_IF_ERROR(ShowAll(over));
  AccountForgotten();
  RETURN_IF_ERROR(StartMeanwhile());
  for (const std::int64_t job : released) RETURN_IF_ERROR(AdvanceReleased(job));
  for (const std::int64_t job : running) {
    if (runs_.contains(job)) RETURN_IF_ERROR(AdvanceRunning(job));
  }
  return Place();  // after the ends, so that what they freed is free
}

// Stops and cancels, all in one go.
Result<void> SlurmControl::SendStops() {
  std::vector<std::string> lines, names;
  const auto due = [&](Run& run) {
    const bool now = !run.asked || now_ >= *run.asked + options_.again_after;
    if (now) run.asked = now_;
    return now;
  };
  std::vector<std::int64_t> stops;
  for (auto& [job, run] : runs_) {
    const SlurmQueueLine* line = LineOf(job);
    const bool pending = line != nullptr && line->phase == SlurmPhase::kPending;
    if (line == nullptr || run.wanted == Wanted::kNothing) continue;
    if (run.wanted == Wanted::kCancel && due(run)) names.push_back(NameOf(job));
    if (run.wanted == Wanted::kStop && !pending && run.step != Step::kPlace && due(run)) {
      lines.push_back("requeuehold " + NameOf(job));
      stops.push_back(job);
    }
  }
  std::erase_if(cancel_waiting_, [&](std::int64_t job) {
    const SlurmQueueLine* line = LineOf(job);
    return runs_.contains(job) || line == nullptr || line->phase != SlurmPhase::kPending;
  });
  for (const std::int64_t job : cancel_waiting_) names.push_back(NameOf(job));
  if (options_.dry_run) {
    for (const std::string& line : lines) options_.log("dry run: scontrol " + line);
    for (const std::string& name : names) options_.log("dry run: scancel " + name);
    cancel_waiting_.clear();
    return {};
  }
  const auto complaint = client_.Control(lines);
  if (!complaint) {
    for (const std::int64_t job : stops) runs_.at(job).asked.reset();  // it may not have arrived
    return tl::unexpected(complaint.error());
  }
  for (const std::int64_t job : stops) {
    Run& run = runs_.at(job);
    if (complaint->empty() || stops.size() > 1 || std::exchange(run.told_stuck, true)) continue;
    Emit(RunNote{run.request.id, "it is to leave its place, and Slurm refuses: " + *complaint});
  }
  const auto cancelled = client_.Cancel(names);
  RETURN_IF_ERROR(cancelled);
  return {};
}

// Back to a hold, without GPUs, so that any may be set next. False: not yet.
Result<bool> SlurmControl::HoldAndClear(std::int64_t job) {
  const std::string name = NameOf(job);
  // As its user does: a job that an admin holds is left alone by the watchdog.
  std::vector<std::string> lines = {"uhold " + name};
  lines.push_back(fmt::format("update JobId={} TresPerNode=", name));
  if (const Run& run = runs_.at(job); run.place == Run::Place::kWrong) {
    // Its note may be lost: then nodes that we had set would be taken for its user's wish.
    lines.push_back(
        fmt::format("update JobId={} ReqNodeList={}", name, fmt::join(run.note.ask.nodes, ",")));
  }
  // Whoever has it next, plain Slurm too, finds what its user asked for.
  const auto known_job = known_.find(job);
  if (known_job != known_.end() && known_job->second.job && known_job->second.note) {
    const SlurmJob& was = *known_job->second.job;
    const JobNote::Ask& ask = known_job->second.note->ask;
    const std::string cpus = CpuFields(was, ask, CpusAsked(was, ask), was.nodes_wanted);
    if (!cpus.empty()) lines.push_back(fmt::format("update JobId={}{}", name, cpus));
  }
  const auto complaint = client_.Control(lines);
  RETURN_IF_ERROR(complaint);
  auto read = client_.Check({job}, {NameOf(job)});
  RETURN_IF_ERROR(read);
  if (read->empty()) return false;
  SlurmJob& now = read->front();
  const bool held = IsHeldJob(now);
  // One that began meanwhile is as it was told.
  Known& known = known_[job];
  if (known.line) {
    known.line->phase = now.phase;
    known.line->priority = now.priority;
  }
  HandleJob(known, std::move(now));
  known.left_at = now_;
  known.left_nodes = runs_.at(job).request.nodes;
  return held;
}

Result<void> SlurmControl::AdvanceReleased(std::int64_t job) {
  Run& run = runs_.at(job);
  const SlurmQueueLine* line = LineOf(job);
  if (line == nullptr || IsOver(line->phase)) return LookAtEnd(job);
  if (run.place == Run::Place::kWrong && run.wanted == Wanted::kNothing) return TakeBack(job);
  if (line->phase == SlurmPhase::kRunning && run.place == Run::Place::kUnread)
    return {};  // not yet
  if (HasBegun(line->phase)) {
    if (TakenOver(job, *line)) return {};
    run.step = Step::kRunning;
    run.since = now_;
    EmitStarted(run);
    return {};
  }
  if (line->phase != SlurmPhase::kPending) return {};  // it is being set up
  if (run.wanted == Wanted::kStop) return GiveBack(job);
  if (run.wanted == Wanted::kCancel) return {};  // its end is on its way
  const auto kept = IsKept(job, *line);
  RETURN_IF_ERROR(kept);
  if (*kept) return {};
  if (now_ >= run.since + options_.start_within) {
    const std::string reason = line->reason;
    const auto held = HoldAndClear(job);
    RETURN_IF_ERROR(held);
    if (*held) {
      Refuse(job,
             fmt::format("Slurm did not start it within {:g} s: {}", options_.start_within.value,
                         reason.empty() ? "it gives no reason" : reason));
    }
    return {};
  }
  const Seconds said = run.asked.value_or(run.since);
  if (line->reason == "BeginTime" && now_ >= said + kReleaseAgain) {
    // Put back after its release (slurmctld was started again), it waits for its credential to
    // expire.
    run.asked = now_;
    const auto shown = Show(job);
    RETURN_IF_ERROR(shown);
    if (*shown && (*shown)->restarts > 0) {
      const auto complaint =
          client_.Control({fmt::format("update JobId={} StartTime=now", NameOf(job))});
      RETURN_IF_ERROR(complaint);
    }
    return {};
  }
  if (line->priority == 0 && now_ >= said + kReleaseAgain) {
    run.asked = now_;
    const auto shown = Show(job);
    RETURN_IF_ERROR(shown);
    if (!*shown || !IsHeldJob(**shown)) return {};  // the next look will have it
    // A slurmctld that was killed forgets its last seconds: the place may be gone with the release.
    if (!WhatDiffers(**shown, run.note, place_options()).empty()) {
      HandleJob(known_[job], **shown);
      run.step = Step::kPlace;
      run.since = now_;
      return {};
    }
    const auto complaint = client_.Control({"release " + NameOf(job)});
    RETURN_IF_ERROR(complaint);
  }
  return {};
}

// Somebody has changed its nodes after all was checked: it is theirs from now on.
bool SlurmControl::TakenOver(std::int64_t job, const SlurmQueueLine& line) {
  const Run& run = runs_.at(job);
  const std::set<std::string> has(line.nodes.begin(), line.nodes.end());
  const std::set<std::string> given(run.request.nodes.begin(), run.request.nodes.end());
  // One that ends leaves its nodes one by one, and a node that is lost leaves it.
  if (std::includes(given.begin(), given.end(), has.begin(), has.end())) return false;
  Known& known = known_.at(job);
  known.told = false;
  known.job.reset();  // it is read again, for what it has
  Emit(JobWithdrawn{run.request.id.job,
                    fmt::format("somebody else moved it in Slurm, to {}: it runs without Sharewell",
                                fmt::join(line.nodes, ","))});
  End(job, StoppedEnd("somebody else moved it in Slurm"));
  return true;
}

// A stop that has come to its end: it is held, and has nothing.
Result<void> SlurmControl::GiveBack(std::int64_t job) {
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held) End(job, StoppedEnd({}));
  return {};
}

Result<void> SlurmControl::AdvanceRunning(std::int64_t job) {
  Run& run = runs_.at(job);
  const SlurmQueueLine* line = LineOf(job);
  if (options_.dry_run && run.wanted != Wanted::kNothing) {
    End(job, StoppedEnd("dry run: it runs on in Slurm"));
    return {};
  }
  if (line == nullptr || IsOver(line->phase)) return LookAtEnd(job);
  if (line->phase != SlurmPhase::kPending) {
    if (HasBegun(line->phase)) EmitStarted(run);  // of an earlier server
    return {};
  }
  if (options_.dry_run || run.wanted == Wanted::kCancel) return {};
  if (run.wanted == Wanted::kStop) return GiveBack(job);
  // Somebody, or Slurm after a node had failed, put it back into the queue.
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held) {
    EmitStarted(run);
    End(job, StoppedEnd("it was put back into Slurm's queue"));
  }
  return {};
}

}  // namespace sharewell::engine
