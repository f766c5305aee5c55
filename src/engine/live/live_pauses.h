// LivePauses: jobs whose process waits while they do. Its GPUs are free once the pauser has said
// so, and it goes on there with the job's next start (LiveStarts).
#pragma once

#include <cstdint>
#include <optional>

#include "engine/live/live_book.h"
#include "engine/live/live_starts.h"
#include "engine/live/live_stops.h"

namespace sharewell::engine {

class LivePauses {
 public:
  LivePauses(LiveBook& book, LiveStarts& starts, LiveStops& stops)
      : book_(book), starts_(starts), stops_(stops) {}

  void PauseByPlan(core::JobId id);
  // As LiveEngine has them.
  void SetGpuMemory(core::JobId id, std::optional<core::Bytes> memory);
  void Pause(core::JobId id);
  void Park(core::JobId id);
  void ParkFound(const RunRequest& run, RunRequest next);
  bool CancelParked(std::int64_t number);
  void ResumeFound(core::JobId id);

  // A job that comes back into the queue has the process again that was parked, if one was.
  void Unpark(std::int64_t number, core::JobId id);
  // False: it was no run of a parked job.
  bool EndParked(const RunEnded& event);
  bool IsParked(RunId id) const;

  void Handle(const PauseRefused& event);
  void Handle(const RunPaused& event);
  void Handle(const RunResumed& event);
  void Handle(const ResumeRefused& event);
  void Emit(Observation& out);

 private:
  void Begin(core::JobId id, JobEntry& job, bool asked);
  void Refuse(core::JobId id, JobEntry& job, const PauseRefused& event);
  JobEntry* InState(RunId id, Attempt::Paused state);  // null: that run is not, or not so

  LiveBook& book_;
  LiveStarts& starts_;
  LiveStops& stops_;
};

}  // namespace sharewell::engine
