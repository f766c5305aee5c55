// Submissions: jobs that users bring. They are admitted, stored together, and put into the queue;
// each user is answered once it was decided on for the first time. The loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "control/service/jobs/admission.h"
#include "control/service/jobs/job_board.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/mailbox.h"
#include "control/service/record/journal.h"
#include "control/service/service_state.h"
#include "control/service/view/published_view.h"
#include "core/job/job_record.h"
#include "core/job/submission.h"
#include "core/result.h"

namespace sharewell::control {

class Submissions {
 public:
  // All must outlive it.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    PublishedView& view;
    Admission& admission;
    JobQueue& queue;
  };
  explicit Submissions(const Parts& parts) : parts_(parts) {}

  // Each is stored whole or refused whole; who is refused is answered at once.
  void Handle(std::span<SubmitRequest> requests);
  // What was taken is decided on, or no decision will come: the others are answered.
  void Answer();
  // What would be believed of it, and whether it could ever run here. Keeps nothing.
  core::Result<core::JobRecord> Consider(const core::Submission& job, const core::Account& who);

 private:
  struct Owed {  // an answer that waits for the first decision
    std::vector<std::int64_t> numbers;
    std::function<void(core::Result<std::vector<JobPtr>>)> answer;
  };

  const Parts parts_;
  std::vector<Owed> answers_;
};

}  // namespace sharewell::control
