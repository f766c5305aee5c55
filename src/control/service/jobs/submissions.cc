#include "control/service/jobs/submissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

namespace {

tl::unexpected<core::Error> NotSubmitted(core::Error why) {
  return tl::unexpected(std::move(why).Within("nothing was submitted"));
}

}  // namespace

void Submissions::Handle(std::span<SubmitRequest> requests) {
  // What happened is stored before anything is added: an end must not be without room because of a
  // submission, and who comes after a job must know of its end.
  if (parts_.journal.outbox().owes_records()) {
    if (const auto kept = parts_.journal.CommitAll(); !kept) {
      parts_.view.Publish();
      for (SubmitRequest& request : requests) request.answer(NotSubmitted(kept.error()));
      return;
    }
  }
  store::JobChanges changes;
  std::vector<Owed> admitted;
  std::int64_t next = parts_.journal.next_number();
  for (SubmitRequest& request : requests) {
    auto records = parts_.admission.Admit(request.jobs, request.who, next, parts_.journal.Wall());
    if (!records) {
      request.answer(tl::unexpected(std::move(records.error())));
      continue;
    }
    Owed owes{{}, std::move(request.answer)};
    for (JobRecord& record : *records) {
      changes.events.push_back(
          {0, record.submitted, "job.submitted", record.number,
           fmt::format("job {} by {}: {}", record.number, core::Quoted(record.user.name),
                       core::Quoted(core::DisplayName(record.asked)))});
      owes.numbers.push_back(record.number);
      // Live before the next one is admitted: bounds count those of the same breath too.
      parts_.state.live.Add(record);
      changes.jobs.push_back(std::move(record));
    }
    next += static_cast<std::int64_t>(owes.numbers.size());
    admitted.push_back(std::move(owes));
  }
  if (admitted.empty()) return;
  if (auto kept = parts_.journal.Commit(std::move(changes)); !kept) {
    parts_.view.Publish();  // that nothing can be stored
    for (Owed& owes : admitted) {
      for (const std::int64_t number : owes.numbers) parts_.state.live.Remove(number);
      owes.answer(NotSubmitted(kept.error()));
    }
    return;
  }
  parts_.journal.NumberIsTaken(next - 1);
  for (Owed& owes : admitted) {
    for (const std::int64_t number : owes.numbers) {
      const JobRecord& record = parts_.state.live.Find(number)->record;
      if (record.phase == Phase::kWaiting) {
        parts_.queue.Enqueue(number);
      } else {
        parts_.admission.AddDependent(record);
      }
    }
    answers_.push_back(std::move(owes));
  }
}

void Submissions::Answer() {
  for (Owed& waiting : std::exchange(answers_, {})) {
    std::vector<JobPtr> told;
    for (const std::int64_t number : waiting.numbers) {
      LiveJob* job = parts_.state.live.Find(number);
      if (job != nullptr && job->record.phase == Phase::kWaiting && job->record.reason.empty()) {
        job->record.reason =
            core::InWords(core::reason::BehindOthers{}, "") + parts_.state.gpus.UnusableText();
        parts_.state.board.Put(job->record);
      }
      if (JobPtr shown = parts_.state.board.Find(number)) told.push_back(std::move(shown));
    }
    waiting.answer(std::move(told));
  }
}

core::Result<JobRecord> Submissions::Consider(const core::Submission& job,
                                              const core::Account& who) {
  auto admitted =
      parts_.admission.Admit({&job, 1}, who, parts_.journal.next_number(), parts_.journal.Wall());
  if (!admitted) return tl::unexpected(std::move(admitted.error()));
  JobRecord& record = admitted->front();
  if (record.note.empty()) record.note = parts_.state.gpus.UnusableSentence();
  return std::move(record);
}

}  // namespace sharewell::control
