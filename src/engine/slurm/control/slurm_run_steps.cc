#include "engine/slurm/control/slurm_run_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "engine/slurm/control/slurm_cores.h"
#include "engine/slurm/control/slurm_hold.h"
#include "engine/slurm/read/slurm_terms.h"
#include "engine/told_steps.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

namespace {

constexpr Seconds kReleaseAgain(3);  // where it is still held so long after its release

}  // namespace

SlurmRunSteps::UnderWay SlurmRunSteps::Runs() const {
  UnderWay these;
  for (const auto& [job, run] : book_.runs()) {
    if (run.step == SlurmRun::Step::kReleased) these.released.push_back(job);
    if (run.step == SlurmRun::Step::kRunning) these.running.push_back(job);
  }
  return these;
}

Result<void> SlurmRunSteps::ShowOver(const UnderWay& these) {
  std::vector<std::int64_t> over;
  for (const auto* some : {&these.released, &these.running}) {
    for (const std::int64_t job : *some) {
      const SlurmQueueLine* line = jobs_.LineOf(job);
      if (line == nullptr || IsOver(line->phase)) over.push_back(job);
    }
  }
  RETURN_IF_ERROR(jobs_.ShowAll(over));
  jobs_.AccountForgotten();
  return {};
}

Result<void> SlurmRunSteps::Advance(const UnderWay& these) {
  for (const std::int64_t job : these.released) RETURN_IF_ERROR(AdvanceReleased(job));
  for (const std::int64_t job : these.running) {
    if (book_.runs().contains(job)) RETURN_IF_ERROR(AdvanceRunning(job));
  }
  return {};
}

Result<void> SlurmRunSteps::SendStops() {
  std::vector<std::string> lines, names;
  const auto due = [&](SlurmRun& run) {
    const bool now = !run.asked || book_.now() >= *run.asked + book_.options().again_after;
    if (now) run.asked = book_.now();
    return now;
  };
  std::vector<std::int64_t> stops;
  for (auto& [job, run] : book_.runs()) {
    const SlurmQueueLine* line = jobs_.LineOf(job);
    const bool pending = line != nullptr && line->phase == SlurmPhase::kPending;
    if (line == nullptr || run.wanted == WantedRun::kNothing) continue;
    if (run.wanted == WantedRun::kCancel && due(run)) names.push_back(jobs_.NameOf(job));
    if (run.wanted == WantedRun::kStop && !pending && run.step != SlurmRun::Step::kPlace &&
        due(run)) {
      for (std::string& own : RequeueLines(job)) lines.push_back(std::move(own));
      stops.push_back(job);
    }
  }
  std::erase_if(book_.cancel_waiting(), [&](std::int64_t job) {
    const SlurmQueueLine* line = jobs_.LineOf(job);
    return book_.runs().contains(job) || line == nullptr || line->phase != SlurmPhase::kPending;
  });
  for (const std::int64_t job : book_.cancel_waiting()) names.push_back(jobs_.NameOf(job));
  if (book_.options().dry_run) {
    for (const std::string& line : lines) book_.options().log("dry run: scontrol " + line);
    for (const std::string& name : names) book_.options().log("dry run: scancel " + name);
    book_.cancel_waiting().clear();
    return {};
  }
  const auto complaint = book_.client().Control(lines);
  if (!complaint) {
    for (const std::int64_t job : stops)
      book_.runs().at(job).asked.reset();  // it may not have arrived
    return tl::unexpected(complaint.error());
  }
  for (const std::int64_t job : stops) {
    SlurmRun& run = book_.runs().at(job);
    if (complaint->empty() || stops.size() > 1 || std::exchange(run.told_stuck, true)) continue;
    book_.Emit(
        RunNote{run.request.id, "it is to leave its place, and Slurm refuses: " + *complaint});
  }
  const auto cancelled = book_.client().Cancel(names);
  RETURN_IF_ERROR(cancelled);
  return {};
}

// Into the queue again, held as we hold: `requeuehold` would leave it as an admin's does. Slurm
// does not start it in between: one that was put back waits for its credential to expire.
std::vector<std::string> SlurmRunSteps::RequeueLines(std::int64_t job) const {
  const std::string name = jobs_.NameOf(job);
  return {"requeue " + name, "uhold " + name};
}

// Back to a hold, without GPUs, so that any may be set next. False: not yet.
Result<bool> SlurmRunSteps::HoldAndClear(std::int64_t job) {
  const std::string name = jobs_.NameOf(job);
  // As its user does: a job that an admin holds is left alone by the watchdog.
  std::vector<std::string> lines = {"uhold " + name};
  lines.push_back(fmt::format("update JobId={} TresPerNode=", name));
  if (const SlurmRun& run = book_.runs().at(job); run.place == SlurmRun::Place::kWrong) {
    // Its note may be lost: then nodes that we had set would be taken for its user's wish.
    lines.push_back(
        fmt::format("update JobId={} ReqNodeList={}", name, fmt::join(run.note.ask.nodes, ",")));
  }
  // Whoever has it next, plain Slurm too, finds what its user asked for.
  const auto known_job = book_.jobs().find(job);
  if (known_job != book_.jobs().end() && known_job->second.job && known_job->second.note) {
    const SlurmJob& was = *known_job->second.job;
    const JobNote::Ask& ask = known_job->second.note->ask;
    const std::string cpus = CpuFields(was, ask, CpusAsked(was, ask), was.nodes_wanted);
    if (!cpus.empty()) lines.push_back(fmt::format("update JobId={}{}", name, cpus));
  }
  const auto complaint = book_.client().Control(lines);
  RETURN_IF_ERROR(complaint);
  auto read = book_.client().Check({job}, {jobs_.NameOf(job)});
  RETURN_IF_ERROR(read);
  if (read->empty()) return false;
  SlurmJob& now = read->front();
  const bool held = IsHeldJob(now);
  // One that began meanwhile is as it was told.
  SlurmKnown& known = book_.jobs()[job];
  jobs_.HandleLater(known, std::move(now));
  known.left_at = book_.now();
  known.left_nodes = book_.runs().at(job).request.nodes;
  return held;
}

Result<void> SlurmRunSteps::AdvanceReleased(std::int64_t job) {
  SlurmRun& run = book_.runs().at(job);
  const SlurmQueueLine* line = jobs_.LineOf(job);
  if (line == nullptr || IsOver(line->phase)) return ends_.LookAtEnd(job);
  if (run.place == SlurmRun::Place::kWrong && run.wanted == WantedRun::kNothing)
    return TakeBack(job);
  if (line->phase == SlurmPhase::kRunning && run.place == SlurmRun::Place::kUnread)
    return {};  // not yet
  if (HasBegun(line->phase)) {
    if (TakenOver(job, *line)) return {};
    run.step = SlurmRun::Step::kRunning;
    run.since = book_.now();
    ends_.EmitStarted(run);
    return {};
  }
  if (line->phase != SlurmPhase::kPending) return {};  // it is being set up
  return AdvancePending(job, *line);
}

Result<void> SlurmRunSteps::AdvancePending(std::int64_t job, const SlurmQueueLine& line) {
  SlurmRun& run = book_.runs().at(job);
  if (run.wanted == WantedRun::kCancel) return {};  // its end is on its way
  if (WaitsHeldByOthers(line)) {
    ends_.EndHeld(job);
    return {};
  }
  if (run.wanted == WantedRun::kStop) return GiveBack(job);
  const auto kept = IsKept(job, line);
  RETURN_IF_ERROR(kept);
  if (*kept) return {};
  if (book_.now() >= run.since + book_.options().start_within) {
    const std::string reason = line.reason;
    const auto held = HoldAndClear(job);
    RETURN_IF_ERROR(held);
    if (*held) {
      ends_.Refuse(job, fmt::format("Slurm did not start it within {:g} s: {}",
                                    book_.options().start_within.value,
                                    reason.empty() ? "it gives no reason" : reason));
    }
    return {};
  }
  const Seconds said = run.asked.value_or(run.since);
  if (line.reason == "BeginTime" && book_.now() >= said + kReleaseAgain) {
    // Put back after its release (slurmctld was started again), it waits for its credential to
    // expire.
    run.asked = book_.now();
    const auto shown = jobs_.Show(job);
    RETURN_IF_ERROR(shown);
    if (*shown && (*shown)->restarts > 0) {
      const auto complaint =
          book_.client().Control({fmt::format("update JobId={} StartTime=now", jobs_.NameOf(job))});
      RETURN_IF_ERROR(complaint);
    }
    return {};
  }
  if (line.priority == 0 && book_.now() >= said + kReleaseAgain) return ReleaseAgain(job);
  return {};
}

Result<void> SlurmRunSteps::ReleaseAgain(std::int64_t job) {
  SlurmRun& run = book_.runs().at(job);
  run.asked = book_.now();
  const auto shown = jobs_.Show(job);
  RETURN_IF_ERROR(shown);
  if (!*shown || !IsHeldJob(**shown)) return {};  // the next look will have it
  if (!IsOurHold((*shown)->reason)) return {};    // likewise
  // A slurmctld that was killed forgets its last seconds: the place may be gone with the release.
  if (!WhatDiffers(**shown, run.note, book_.place_options()).empty()) {
    jobs_.Handle(book_.jobs()[job], **shown);
    run.step = SlurmRun::Step::kPlace;
    run.since = book_.now();
    return {};
  }
  const auto complaint = book_.client().Control({"release " + jobs_.NameOf(job)});
  RETURN_IF_ERROR(complaint);
  return {};
}

// Somebody has changed its nodes after all was checked: it is theirs from now on.
bool SlurmRunSteps::TakenOver(std::int64_t job, const SlurmQueueLine& line) {
  const SlurmRun& run = book_.runs().at(job);
  const std::set<std::string> has(line.nodes.begin(), line.nodes.end());
  const std::set<std::string> given(run.request.nodes.begin(), run.request.nodes.end());
  // One that ends leaves its nodes one by one, and a node that is lost leaves it.
  if (std::includes(given.begin(), given.end(), has.begin(), has.end())) return false;
  SlurmKnown& known = book_.jobs().at(job);
  known.told = false;
  known.job.reset();  // it is read again, for what it has
  book_.Emit(
      JobWithdrawn{run.request.id.job,
                   fmt::format("somebody else moved it in Slurm, to {}: it runs without Sharewell",
                               fmt::join(line.nodes, ","))});
  ends_.End(job, StoppedEnd("somebody else moved it in Slurm"));
  return true;
}

// A stop that has come to its end: it is held, and has nothing.
Result<void> SlurmRunSteps::GiveBack(std::int64_t job) {
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held) ends_.End(job, StoppedEnd({}));
  return {};
}

Result<void> SlurmRunSteps::AdvanceRunning(std::int64_t job) {
  SlurmRun& run = book_.runs().at(job);
  const SlurmQueueLine* line = jobs_.LineOf(job);
  if (book_.options().dry_run && run.wanted != WantedRun::kNothing) {
    ends_.End(job, StoppedEnd("dry run: it runs on in Slurm"));
    return {};
  }
  if (line == nullptr || IsOver(line->phase)) return ends_.LookAtEnd(job);
  if (line->phase != SlurmPhase::kPending) {
    if (HasBegun(line->phase)) ends_.EmitStarted(run);  // of an earlier server
    return {};
  }
  if (book_.options().dry_run || run.wanted == WantedRun::kCancel) return {};
  if (WaitsHeldByOthers(*line)) {
    ends_.EmitStarted(run);
    ends_.EndHeld(job);
    return {};
  }
  if (run.wanted == WantedRun::kStop) return GiveBack(job);
  // Somebody, or Slurm after a node had failed, put it back into the queue.
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held) {
    ends_.EmitStarted(run);
    ends_.End(job, StoppedEnd("it was put back into Slurm's queue"));
  }
  return {};
}

// It was released, and Slurm has a reason of its own not to start it, which no other place mends.
Result<bool> SlurmRunSteps::IsKept(std::int64_t job, const SlurmQueueLine& line) {
  constexpr core::Seconds kKeptAfter(2), kTriedAgain(60);
  SlurmRun& run = book_.runs().at(job);
  SlurmKnown& known = book_.jobs().at(job);
  const bool put_back = line.reason == "BeginTime" && known.job && known.job->restarts > 0;
  if (put_back || !SlurmKeeps(line.reason) || book_.now() < run.since + kKeptAfter) return false;
  const std::string reason = line.reason;
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (!*held) return true;
  book_.jobs().at(job).kept = reason;
  book_.jobs().at(job).kept_until = book_.now() + kTriedAgain;
  ends_.Refuse(job, "Slurm does not start it: " + reason);
  return true;
}

// Slurm counts limits in minutes: most of what a job loses changes nothing there. Kept until Slurm
// has taken it.
Result<void> SlurmRunSteps::SendLimits() {
  for (auto it = limits_.begin(); it != limits_.end();) {
    const auto [id, limit] = *it;
    const auto found = book_.runs().find(id.job);
    const auto minutes = static_cast<std::int64_t>(std::ceil(limit.value / 60));
    const bool there = found != book_.runs().end() && found->second.request.id == id;
    if (!there || minutes <= found->second.limit_minutes) {
      it = limits_.erase(it);
      continue;
    }
    const std::string line = fmt::format("update JobId={} TimeLimit={}", jobs_.NameOf(id.job),
                                         SlurmTime(Seconds(static_cast<double>(minutes) * 60)));
    if (book_.options().dry_run) {
      book_.options().log("dry run: scontrol " + line);
    } else {
      const auto complaint = book_.client().Control({line});
      RETURN_IF_ERROR(complaint);
      if (!complaint->empty()) {
        book_.Emit(
            RunNote{id, fmt::format("it shares its GPU, and Slurm refuses to extend its time "
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
bool SlurmRunSteps::LostItsPlace(const SlurmJob& job, const JobNote& given) const {
  if (!given.put || given.put->nodes.front().slots.empty()) return false;
  if (!job.slots.empty() || !job.gres.empty()) return false;
  if (job.required_nodes.empty()) return true;
  const auto note = NoteIn(job, book_.place_options().admin);
  const auto is_ours = [&](const std::string& node) {
    return std::any_of(given.put->nodes.begin(), given.put->nodes.end(),
                       [&](const JobNote::OnNode& on) { return on.node == node; });
  };
  // Of a hold and a clearing one may have come before slurmctld was killed and one after it.
  return note && !note->put &&
         std::all_of(job.required_nodes.begin(), job.required_nodes.end(), is_ours);
}

Result<void> SlurmRunSteps::LookAtBegun(const UnderWay& these) {
  constexpr std::size_t kMostAtOnce = 500;  // as many as are placed at once
  std::vector<std::int64_t> begun;
  std::vector<std::string> names;
  for (const std::int64_t job : these.released) {
    const SlurmQueueLine* line = jobs_.LineOf(job);
    SlurmRun& run = book_.runs().at(job);
    if (line == nullptr || line->phase != SlurmPhase::kRunning ||
        run.place != SlurmRun::Place::kUnread) {
      continue;
    }
    if (begun.size() == kMostAtOnce) break;
    begun.push_back(job);
    names.push_back(jobs_.NameOf(job));
  }
  if (begun.empty()) return {};
  auto read = book_.client().Check(begun, names);
  RETURN_IF_ERROR(read);
  for (const SlurmJob& job : *read) {
    if (job.phase != SlurmPhase::kRunning || !book_.runs().contains(job.id)) continue;
    SlurmRun& run = book_.runs().at(job.id);
    run.place = LostItsPlace(job, run.note) ? SlurmRun::Place::kWrong : SlurmRun::Place::kRight;
  }
  return {};
}

// It runs without its GPU: it comes back, and is placed anew.
Result<void> SlurmRunSteps::TakeBack(std::int64_t job) {
  SlurmRun& run = book_.runs().at(job);
  if (jobs_.LineOf(job)->phase != SlurmPhase::kPending) {
    if (run.asked && book_.now() < *run.asked + book_.options().again_after) return {};
    run.asked = book_.now();
    const auto complaint = book_.client().Control(RequeueLines(job));
    RETURN_IF_ERROR(complaint);
    return {};
  }
  const auto held = HoldAndClear(job);
  RETURN_IF_ERROR(held);
  if (*held)
    ends_.Refuse(job, "slurmctld was started again, forgot its place and ran it without its GPU");
  return {};
}

void SlurmRunSteps::EmitSteps() {
  if (!book_.options().steps) return;
  std::map<std::int64_t, WatchedRun> running;
  for (auto& [job, run] : book_.runs()) {
    if (run.step != SlurmRun::Step::kRunning || !run.told_started) continue;
    running.emplace(job, WatchedRun{run.began, run.request.nodes});
  }
  EmitNewSteps(book_.options().steps(running), book_.runs(), book_.out());
}

}  // namespace sharewell::engine
