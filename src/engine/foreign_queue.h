// ForeignQueue: the queue of a manager that has users of its own. What they submit there (sbatch,
// kubectl) comes as JobSubmitted, with an Account, a Submission and the manager's own id, which
// becomes the job's number: the service admits and stores it as any other submission. It waits in
// the manager's queue, held there, until it is started. What is found running and no store knows is
// a job all the same.
//
// The runner of such a manager is one. Nothing here waits; the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/metric.h"

namespace sharewell::engine {

class ForeignQueue {
 public:
  virtual ~ForeignQueue() = default;
  // That job is known, and waits: JobWithdrawn follows where the manager has it no more.
  virtual void Expect(std::int64_t job) = 0;
  // That job is over: where it still waits there, it is cancelled. Again, or where it does not
  // wait: nothing happens.
  virtual void CancelWaiting(std::int64_t job) = 0;
  // Why that job waits, in words, each time they change: where the manager shows them to its users.
  virtual void ShowReason(std::int64_t /*job*/, const std::string& /*words*/) {}
  // Why that job has to leave its place, likewise. `evicted`: how often it had to so far because of
  // what it or its neighbours did to each other; else another job, or an admin, has its place.
  virtual void ShowLeaving(std::int64_t /*job*/, int /*evicted*/, const std::string& /*words*/) {}
  // When jobs that wait there should start, all that is known now, in place of what was said
  // before: where the manager shows that to its users. Any thread.
  virtual void ShowStarts(const std::map<std::int64_t, core::UnixMillis>& /*starts*/) {}
  // What keeps the manager from being read or told, in words with what to do; empty: nothing. A
  // RunnerNote makes a turn when it changes.
  virtual std::string Problem() = 0;
};

}  // namespace sharewell::engine
