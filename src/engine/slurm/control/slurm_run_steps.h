// SlurmRunSteps: takes each run from its release to its end, step by step. Each step is done again
// until Slurm shows that it holds: what was done is never taken from an answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_ends.h"
#include "engine/slurm/control/slurm_jobs.h"

namespace sharewell::engine {

class SlurmRunSteps {
 public:
  SlurmRunSteps(SlurmBook& book, SlurmJobs& jobs, SlurmEnds& ends)
      : book_(book), jobs_(jobs), ends_(ends) {}

  void SetTimeLimit(RunId id, core::Seconds limit) { limits_[id] = limit; }
  // Those of the book that are to be advanced by this look.
  struct UnderWay {
    std::vector<std::int64_t> released, running;
  };
  UnderWay Runs() const;
  // Stops and cancels, all in one go.
  core::Result<void> SendStops();
  core::Result<void> SendLimits();
  // A slurmctld that was killed between a check and the release may have forgotten the place and
  // yet carry the release out: commands wait for one that comes back. So what has begun is read
  // once.
  core::Result<void> LookAtBegun(const UnderWay& these);
  // Those that are over are asked for in one go.
  core::Result<void> ShowOver(const UnderWay& these);
  // Each run that was released, and then each that runs, by what the look has read.
  core::Result<void> Advance(const UnderWay& these);
  void EmitSteps();

 private:
  core::Result<void> AdvanceReleased(std::int64_t job);
  core::Result<void> AdvancePending(std::int64_t job, const SlurmQueueLine& line);
  core::Result<void> ReleaseAgain(std::int64_t job);
  core::Result<void> AdvanceRunning(std::int64_t job);
  core::Result<void> GiveBack(std::int64_t job);
  core::Result<void> TakeBack(std::int64_t job);
  core::Result<bool> IsKept(std::int64_t job, const SlurmQueueLine& line);
  core::Result<bool> HoldAndClear(std::int64_t job);
  std::vector<std::string> RequeueLines(std::int64_t job) const;
  bool TakenOver(std::int64_t job, const SlurmQueueLine& line);
  bool LostItsPlace(const SlurmJob& job, const JobNote& given) const;

  SlurmBook& book_;
  SlurmJobs& jobs_;
  SlurmEnds& ends_;
  std::map<RunId, core::Seconds> limits_;  // to be set
};

}  // namespace sharewell::engine
