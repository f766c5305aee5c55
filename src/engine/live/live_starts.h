// LiveStarts: starts of jobs, which wait until their place is really free. A job that is paused
// goes on with its next start.
#pragma once

#include <optional>
#include <string>

#include "engine/live/live_book.h"

namespace sharewell::engine {

class LiveStarts {
 public:
  explicit LiveStarts(LiveBook& book) : book_(book) {}

  void Start(core::JobId id, const core::Allocation& to, std::optional<core::Seconds> profile);
  void Arrive(core::JobId id, const core::Allocation& to);  // the second half of a move
  // Found running after a restart, as LiveEngine::Adopt has it.
  void Adopt(core::JobId id, const RunRequest& run, RunRequest next);
  void Resize(core::JobId id, double cores);
  void Throttle(core::JobId id, core::Ratio share);
  void SetTimeLimit(core::JobId id, core::Seconds limit);

  void BeginWhatCan();
  // The loop had it started, but its process never was. `why`: it was refused; empty: it was not.
  void GiveUp(core::JobId id, JobEntry& job, Outcome outcome, const std::string& why = {});
  void GiveUpAndRequeue(core::JobId id, JobEntry& job, const std::string& why = {});

 private:
  bool IsFree(const JobEntry& job) const;  // it can begin, or be resumed
  void Begin(core::JobId id, JobEntry& job);
  void Resume(core::JobId id, JobEntry& job);
  RunRequest RequestOf(const JobEntry& job, const core::Allocation& to) const;

  LiveBook& book_;
};

}  // namespace sharewell::engine
