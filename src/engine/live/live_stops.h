// LiveStops: runs that are told to end, by a plan, by their user, or because their place is gone.
#pragma once

#include "engine/live/live_book.h"
#include "engine/live/live_starts.h"

namespace sharewell::engine {

class LiveStops {
 public:
  LiveStops(LiveBook& book, LiveStarts& starts) : book_(book), starts_(starts) {}

  void StopByPlan(core::JobId id);
  void LeaveByPlan(core::JobId id);  // the first half of a move
  // As LiveEngine has them.
  void Withdraw(core::JobId id);
  void Cancel(core::JobId id);
  void Requeue(core::JobId id);
  void Drop(core::JobId id);  // the loop has given it up

  void Leave(JobEntry& job, Attempt::Why why);
  void Send(Attempt& run);  // once more, perhaps
  void LeaveUnusable();     // all whose GPU or node is lost
  // It is finished or failed, which the loop is told with `told`; what was to begin does not.
  void EndJob(core::JobId id, JobEntry& job, std::vector<core::JobId>& told);

 private:
  LiveBook& book_;
  LiveStarts& starts_;
};

}  // namespace sharewell::engine
