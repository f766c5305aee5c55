// ForeignIntake: jobs that the users of a cluster's manager submit there. They are taken into the
// queue under the manager's own ids, given up when they are cancelled there, and their users are
// told why they wait. The loop's thread.
//
// What the store does not take stays here and is tried again: the manager does not tell it twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "control/service/advisor.h"
#include "control/service/jobs/admission.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/record/journal.h"
#include "control/service/service_state.h"
#include "control/service/view/published_view.h"
#include "core/job/job_record.h"
#include "core/result.h"
#include "core/units.h"
#include "engine/foreign_queue.h"
#include "engine/live/live_engine.h"
#include "store/job_store.h"

namespace sharewell::control {

class ForeignIntake {
 public:
  // All must outlive it.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    PublishedView& view;
    const Admission& admission;
    JobQueue& queue;
    engine::LiveEngine& engine;
    engine::ForeignQueue* manager;  // null: jobs are submitted here alone
    Advisor& advisor;
    store::JobStore& store;
  };
  explicit ForeignIntake(const Parts& parts);

  void Hear(const engine::JobSubmitted& event) { told_.push_back(event); }
  void Hear(const engine::JobWithdrawn& event);
  void Hear(const engine::TermsChanged& event);
  void Hear(const engine::NeedsKnown& event);
  // Those that were told of are stored and queued.
  void Admit();
  // Until those are tried again that are not stored yet; absent: all are.
  std::optional<core::Seconds> TryAgainIn() const;

  // Runs of jobs that the store does not know are added to `records`, where they may be a manager's
  // users'.
  core::Result<void> Adopt(const std::map<engine::RunId, engine::RunRequest>& runs,
                           std::vector<core::JobRecord>& records);
  // That job waits here: the manager says so where it has it no more.
  void Expect(std::int64_t number) {
    if (parts_.manager != nullptr) parts_.manager->Expect(number);
  }

 private:
  // An error: the store cannot say. False: it is known, and nothing is to be done.
  core::Result<bool> IsNews(const engine::JobSubmitted& event);
  core::JobRecord RecordOf(const engine::JobSubmitted& event);

  const Parts parts_;
  std::vector<engine::JobSubmitted> told_;  // that are not stored yet
  core::Seconds pause_;                     // until they are tried again
};

}  // namespace sharewell::control
