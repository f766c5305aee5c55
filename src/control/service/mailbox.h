// Mailbox: what was asked of the service from any thread, until the loop's thread takes it.
//
// Submissions that stand next to each other are delivered together: one disk write makes all of
// them durable. Whatever is asked is delivered in the order it was asked.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "control/service/jobs/job_board.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "platform/mutex.h"

namespace sharewell::control {

// All of its jobs are submitted, or none.
struct SubmitRequest {
  std::vector<core::Submission> jobs;
  core::Account who;
  std::function<void(core::Result<std::vector<JobPtr>>)> answer;
};

class Mailbox {
 public:
  // Any thread. The poster wakes the loop.
  void Submit(SubmitRequest request);
  void Do(std::function<void()> action);
  void Close();  // the loop is to end
  bool closed() const;

  // The loop's thread: hands over all that was asked before this call.
  void Deliver(const std::function<void(std::span<SubmitRequest>)>& submit);

 private:
  struct Letter {
    SubmitRequest request;
    std::function<void()> action;  // empty: it is a submission
  };

  mutable platform::Mutex mutex_;
  std::vector<Letter> letters_ SHAREWELL_GUARDED_BY(mutex_);
  bool closed_ SHAREWELL_GUARDED_BY(mutex_) = false;
};

}  // namespace sharewell::control
