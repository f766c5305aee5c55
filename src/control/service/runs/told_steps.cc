#include "control/service/runs/told_steps.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace sharewell::control {
namespace {

using core::JobRecord;

constexpr std::size_t kMostReading = 1000;  // jobs; more are not read

void AddNote(LiveJob& job, const std::string& note) {
  if (job.adopted) return;  // the server before this one has noted it
  std::string& text = job.record.note;
  text += (text.empty() ? "" : "; ") + note;
}

}  // namespace

void ToldSteps::Hear(const engine::RunTold& event) {
  LiveJob* job = parts_.state.live.FindRun(event.id);
  if (job == nullptr) return;
  if (!event.off.empty()) {
    AddNote(*job, "its steps are not watched from inside: " + event.off);
    parts_.journal.Touch(*job);
  }
  if (event.document.empty() || parts_.reader == nullptr || reading_.size() >= kMostReading) return;
  ++reading_[event.id].under_way;
  parts_.reader->Read(
      job->record, event.document, [this, run = event.id](core::Result<core::Told> told) {
        parts_.later(
            [this, run, told = std::move(told)]() mutable { TakeRead(run, std::move(told)); });
      });
}

void ToldSteps::Ended(const JobRecord& record, const core::Profile& seen) {
  const auto reading = reading_.find({record.number, record.attempt});
  if (reading != reading_.end()) reading->second.ending = Ending{record, seen};
}

void ToldSteps::TakeRead(engine::RunId run, core::Result<core::Told> told) {
  const auto reading = reading_.find(run);
  if (reading == reading_.end()) return;
  std::optional<Ending> ending = reading->second.ending;
  if (--reading->second.under_way == 0) reading_.erase(reading);
  LiveJob* job = parts_.state.live.FindRun(run);
  if (!told) {
    if (job == nullptr) return;
    AddNote(*job, "what it told of its step cannot be used: " + told.error().message);
    return parts_.journal.Touch(*job);
  }
  if (job == nullptr || core::IsOver(job->record.phase)) {
    if (ending) LearnLate(*std::move(ending), *std::move(told));
    return;
  }
  // Found again by a new server, or told once more: nothing new.
  const bool same = job->record.told && job->record.told->fingerprint == told->fingerprint &&
                    job->record.told->predicted.has_value() == told->predicted.has_value();
  job->record.told = *std::move(told);
  if (same) {
    (void)parts_.advisor.NeedsTold(job->record);  // a new server learns what its script runs
  } else {
    Believe(*job);
  }
  parts_.journal.Touch(*job);
}

void ToldSteps::Believe(LiveJob& job) {
  JobRecord& record = job.record;
  const bool placed =
      job.id.valid() && parts_.state.snapshot.job(job.id).state == core::JobState::kRunning;
  // What was measured on itself is worth more than what it says.
  const bool measured = placed && parts_.state.snapshot.job(job.id).profiled;
  core::Needs needs = parts_.advisor.NeedsTold(record);
  UpdateSiblings(record);
  if (measured || needs == record.believed) return;
  record.believed = std::move(needs);
  parts_.journal.Emit(
      "job.told", record.number,
      fmt::format("job {} has told of its step: {}", record.number, core::InWords(*record.told)));
  if (!placed) return;
  core::Estimate estimate = parts_.advisor.EstimateOf(record);
  parts_.paces.SetPace(job, estimate, parts_.state.snapshot.job(job.id).allocation.gpus);
  parts_.loop.Learn(job.id, std::move(estimate), false);
}

void ToldSteps::UpdateSiblings(const JobRecord& of) {
  if (of.asked.script.empty()) return;
  for (const JobPtr& shown : parts_.state.board.Live()) {
    const bool waits = shown->phase == core::Phase::kWaiting || shown->phase == core::Phase::kHeld;
    if (!waits || shown->number == of.number || shown->asked.script != of.asked.script ||
        shown->user.name != of.user.name ||
        shown->believed.sources.busy != core::Source::kAssumed) {
      continue;
    }
    LiveJob* job = parts_.state.live.Find(shown->number);
    if (job == nullptr) continue;
    core::Needs needs = parts_.advisor.NeedsOf(job->record.user, job->record.asked);
    if (needs == job->record.believed) continue;
    job->record.believed = std::move(needs);
    parts_.journal.Touch(*job);
    if (job->id.valid() && parts_.state.snapshot.job(job->id).state == core::JobState::kWaiting) {
      parts_.loop.Learn(job->id, parts_.advisor.EstimateOf(job->record), false);
    }
  }
}

void ToldSteps::LearnLate(Ending ending, core::Told told) {
  ending.record.told = std::move(told);
  parts_.advisor.LearnStep(ending.record, ending.seen);
  UpdateSiblings(ending.record);
  if (const JobPtr shown = parts_.state.board.Find(ending.record.number);
      shown != nullptr && core::IsOver(shown->phase)) {
    JobRecord record = *shown;
    record.told = ending.record.told;
    parts_.state.board.Put(std::move(record));
  }
}

}  // namespace sharewell::control
