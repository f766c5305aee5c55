// How a run is placed, released, watched and ended, step by step. Each step is done again until
// Slurm shows that it holds.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/slurm/slurm_control.h"
#include "engine/slurm/slurm_submission.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

namespace {

constexpr Seconds kReleaseAgain(3);  // where it is still held so long after its release
// A node that has a job again in the second in which that left it runs no Prolog for it.
constexpr Seconds kPrologAgain(1.1);

// It has its nodes, or had them.
bool HasBegun(SlurmPhase phase) {
  return phase == SlurmPhase::kRunning || phase == SlurmPhase::kSuspended ||
         phase == SlurmPhase::kCompleting || IsOver(phase);
}

RunEnd StoppedEnd(std::string message) {
  RunEnd end;
  end.signal = 15;
  end.exit_code = 128 + end.signal;
  end.stopped = true;
  end.message = std::move(message);
  return end;
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

// Absent: Slurm does not remember it.
Result<std::optional<SlurmJob>> SlurmControl::Show(std::int64_t job) {
  auto read = client_.Check({job}, {NameOf(job)});
  RETURN_IF_ERROR(read);
  if (read->empty()) return std::nullopt;
  return std::move(read->front());
}

void SlurmControl::TellStarted(Run& run) {
  if (std::exchange(run.told_started, true)) return;
  const auto known = known_.find(run.request.id.job);
  run.began = options_.wall();
  if (known != known_.end() && known->second.job && known->second.job->started) {
    run.began = *known->second.job->started;  // of an earlier server: what it told counts
  }
  Tell(RunEvent::Kind::kStarted, run.request.id);
}

void SlurmControl::Refuse(std::int64_t job, std::string why) {
  const RunId id = runs_.at(job).request.id;
  const Wanted wanted = runs_.at(job).wanted;
  runs_.erase(job);
  // One that was told to end has ended.
  if (wanted != Wanted::kNothing) {
    ended_[id] = StoppedEnd("it was stopped before it began");
    RunEvent event;
    event.kind = RunEvent::Kind::kEnded;
    event.id = id;
    event.end = ended_[id];
    return out_->push_back(std::move(event));
  }
  Tell(RunEvent::Kind::kRefused, id, std::move(why));
}

void SlurmControl::End(std::int64_t job, RunEnd end) {
  RunEvent event;
  event.kind = RunEvent::Kind::kEnded;
  event.id = runs_.at(job).request.id;
  limits_.erase(event.id);
  runs_.erase(job);
  ended_[event.id] = end;
  event.end = std::move(end);
  out_->push_back(std::move(event));
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
    request.cores = put.cores;
    request.shares = !request.gpus.empty() && put.shards < kShardsOfGpu;
    if (put.sm_percent < 100) request.thread_share = put.sm_percent / 100.0;
    if (put.gpu_memory_mib) {
      request.gpu_memory = core::Bytes(static_cast<double>(*put.gpu_memory_mib) * (1 << 20));
    }
    requests.push_back(request);
    if (IsOver(job.phase)) {
      RunEvent event;
      event.id = request.id;
      if (job.phase == SlurmPhase::kCancelled) {
        event.kind = RunEvent::Kind::kWithdrawn;
        event.message = "it was cancelled in Slurm";
        found_.push_back(event);
      }
      event.kind = RunEvent::Kind::kStarted;
      found_.push_back(event);
      event.kind = RunEvent::Kind::kEnded;
      event.end = ended_[request.id] = EndOf(job);
      found_.push_back(std::move(event));
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
    TakeJob(known, std::move(job));
  }
  return requests;
}

Result<void> SlurmControl::AdvanceRuns() {
  RETURN_IF_ERROR(SayStops());
  RETURN_IF_ERROR(SayLimits());
  std::vector<std::int64_t> released, running;
  for (const auto& [job, run] : runs_) {
    if (run.step == Step::kReleased) released.push_back(job);
    if (run.step == Step::kRunning) running.push_back(job);
  }
  RETURN_IF_ERROR(LookAtBegun(released));
  for (const std::int64_t job : released) RETURN_IF_ERROR(AdvanceReleased(job));
  for (const std::int64_t job : running) {
    if (runs_.contains(job)) RETURN_IF_ERROR(AdvanceRunning(job));
  }
  return Place();  // after the ends, so that what they freed is free
}

// Stops and cancels, all in one go.
Result<void> SlurmControl::SayStops() {
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
    for (const std::string& line : lines) options_.say("dry run: scontrol " + line);
    for (const std::string& name : names) options_.say("dry run: scancel " + name);
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
    Tell(RunEvent::Kind::kNote, run.request.id,
         "it is to leave its place, and Slurm refuses: " + *complaint);
  }
  const auto cancelled = client_.Cancel(names);
  RETURN_IF_ERROR(cancelled);
  return {};
}

// It is not in the queue any more, or is over.
Result<void> SlurmControl::LookAtEnd(std::int64_t job) {
  const auto shown = Show(job);
  RETURN_IF_ERROR(shown);
  Run& run = runs_.at(job);
  const auto known = known_.find(job);
  if (*shown && !IsOver((*shown)->phase)) {
    const std::string& now = (*shown)->partition;
    if (known == known_.end() || !known->second.job || known->second.job->partition == now) {
      return {};  // the next look will have it
    }
    known->second.told = false;
    Tell(RunEvent::Kind::kWithdrawn, run.request.id,
         fmt::format("it was taken to partition {}", core::Quoted(now)));
    End(job, StoppedEnd("somebody else took it to another partition of Slurm"));
    return {};
  }
  known_[job].told = false;
  if (!*shown) {
    RunEnd end;
    end.exit_code = 1;
    end.message = fmt::format(
        "Slurm does not know job {} any more, nor how it ended; `sacct -j {}` may", job, job);
    End(job, std::move(end));
    return {};
  }
  const SlurmJob& over = **shown;
  RunEnd end = EndOf(over);
  if (over.phase == SlurmPhase::kCancelled) {
    if (run.wanted != Wanted::kNothing) {
      end.stopped = true;
      end.message.clear();
    }
    if (run.wanted != Wanted::kCancel) {
      Tell(RunEvent::Kind::kWithdrawn, run.request.id, "it was cancelled in Slurm");
    }
  }
  if (over.started || over.phase == SlurmPhase::kCompleted) TellStarted(run);
  End(job, std::move(end));
  return {};
}

// Back to a hold, without GPUs, so that any may be set next. False: not yet.
Result<bool> SlurmControl::HoldAndClear(std::int64_t job) {
  const std::string name = NameOf(job);
  std::vector<std::string> lines = {"hold " + name};
  lines.push_back(fmt::format("update JobId={} TresPerNode=", name));
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
  TakeJob(known, std::move(now));
  known.left_at = now_;
  known.left_nodes = runs_.at(job).request.nodes;
  return held;
}

Result<void> SlurmControl::AdvanceReleased(std::int64_t job) {
  Run& run = runs_.at(job);
  const SlurmQueueLine* line = LineOf(job);
  if (line == nullptr || IsOver(line->phase)) return LookAtEnd(job);
  if (run.place == Place::kWrong && run.wanted == Wanted::kNothing) return TakeBack(job);
  if (line->phase == SlurmPhase::kRunning && run.place == Place::kUnread) return {};  // not yet
  if (HasBegun(line->phase)) {
    if (TakenOver(job, *line)) return {};
    run.step = Step::kRunning;
    run.since = now_;
    TellStarted(run);
    return {};
  }
  if (line->phase != SlurmPhase::kPending) return {};  // it is being set up
  if (run.wanted == Wanted::kStop) return GiveBack(job);
  if (run.wanted == Wanted::kCancel) return {};  // its end is on its way
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
      TakeJob(known_[job], **shown);
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
  Tell(RunEvent::Kind::kWithdrawn, run.request.id,
       fmt::format("somebody else moved it in Slurm, to {}: it runs without Sharewell",
                   fmt::join(line.nodes, ",")));
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
    if (HasBegun(line->phase)) TellStarted(run);  // of an earlier server
    return {};
  }
  if (options_.dry_run || run.wanted == Wanted::kCancel) return {};
  if (run.wanted == Wanted::kStop) return GiveBack(job);
  // Somebody, or Slurm after a node had failed, put it back into the queue.
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held) {
    TellStarted(run);
    End(job, StoppedEnd("it was put back into Slurm's queue"));
  }
  return {};
}

// False: it was refused or has ended, and is not in the book any more; or it is on its way.
Result<bool> SlurmControl::ReadyToPlace(std::int64_t job) {
  Run& run = runs_.at(job);
  const auto found = known_.find(job);
  if (found == known_.end() || !found->second.line || !found->second.job) {
    if (found != known_.end() && found->second.line) return false;  // it is read next time
    const auto shown = Show(job);
    RETURN_IF_ERROR(shown);
    if (*shown && !IsOver((*shown)->phase)) return false;
    known_[job].told = false;
    if (*shown) {
      if ((*shown)->phase == SlurmPhase::kCancelled && run.wanted != Wanted::kCancel) {
        Tell(RunEvent::Kind::kWithdrawn, run.request.id, "it was cancelled in Slurm");
      }
      End(job, EndOf(**shown));
      return false;
    }
    RunEnd end;
    end.exit_code = 1;
    end.message = fmt::format("Slurm has no job {} any more", job);
    End(job, std::move(end));
    return false;
  }
  Known& known = found->second;
  if (run.wanted == Wanted::kCancel) return false;  // its end is on its way
  const bool held = known.line->phase == SlurmPhase::kPending && known.line->priority == 0;
  if (!held && !options_.dry_run) {
    // Between the decision and now somebody else has released it.
    known.told = false;
    Tell(RunEvent::Kind::kWithdrawn, run.request.id,
         "somebody else released it in Slurm: it runs without Sharewell");
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
  if (now_ < known.left_at + kPrologAgain &&
      std::any_of(run.request.nodes.begin(), run.request.nodes.end(), was_here)) {
    return false;  // soon
  }
  if (!known.note) {
    Refuse(job, "its note in Slurm cannot be read: " + core::Quoted(known.job->admin_comment));
    return false;
  }
  auto put =
      PutOf(run.request, *known.job, known.note->put, FreeShards(job), GpuMemoryOf(run.request));
  if (!put) {
    Refuse(job, put.error().message);
    return false;
  }
  run.note = *known.note;
  run.note.put = std::move(*put);
  return true;
}

Result<void> SlurmControl::Place() {
  std::vector<std::int64_t> all, placed;
  for (const auto& [job, run] : runs_) {
    if (run.step == Step::kPlace) all.push_back(job);
  }
  std::vector<std::string> lines;
  for (const std::int64_t job : all) {
    const auto ready = ReadyToPlace(job);
    RETURN_IF_ERROR(ready);
    if (!*ready) continue;
    auto own = PlaceLines(*known_.at(job).job, runs_.at(job).note, place_options());
    if (!own) {
      Refuse(job, own.error().message);
      continue;
    }
    if (options_.dry_run) {
      for (const std::string& line : *own) options_.say("dry run: scontrol " + line);
      options_.say("dry run: scontrol release " + NameOf(job));
      runs_.at(job).step = Step::kRunning;
      TellStarted(runs_.at(job));
      continue;
    }
    lines.insert(lines.end(), own->begin(), own->end());
    placed.push_back(job);
    // Whatever is answered: it may have had these slots from now on.
    known_.at(job).note = runs_.at(job).note;
  }
  if (placed.empty()) return {};
  const auto complaint = client_.Control(lines);
  RETURN_IF_ERROR(complaint);
  std::vector<std::string> names;
  for (const std::int64_t job : placed) names.push_back(NameOf(job));
  auto read = client_.Check(placed, names);
  RETURN_IF_ERROR(read);
  for (SlurmJob& job : *read) {
    Known& known = known_[job.id];
    TakeJob(known, std::move(job));
  }
  std::vector<std::string> releases;
  for (const std::int64_t job : placed) {
    const Known& known = known_.at(job);
    if (!WhatDiffers(*known.job, runs_.at(job).note, place_options()).empty()) {
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
    TakeJob(known_[job], std::move(read->front()));
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
