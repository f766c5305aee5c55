// SlurmEnds: how runs begin and end for the service: told by Slurm, found in its accounting, or
// refused. It alone takes runs out of the book.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_jobs.h"

namespace sharewell::engine {

// It has its nodes, or had them.
bool HasBegun(SlurmPhase phase);

class SlurmEnds {
 public:
  SlurmEnds(SlurmBook& book, SlurmJobs& jobs) : book_(book), jobs_(jobs) {}

  void EmitStarted(SlurmRun& run);  // once
  // It is not in the queue any more, or is over. It stays in the book where that is not known yet.
  core::Result<void> LookAtEnd(std::int64_t job);
  // It was not started, and may be elsewhere. One that was told to end has ended.
  void Refuse(std::int64_t job, std::string why);
  void End(std::int64_t job, RunEnd end);
  // It waits in Slurm, held by somebody else: nothing of it is touched, and it waits for them.
  void EndHeld(std::int64_t job);
  // Somebody else has it from now on.
  void EndTaken(std::int64_t job, std::string withdrawn, std::string ended);

 private:
  // Of a job that Slurm has forgotten (MinJobAge). Absent: it is not known how it ended, and
  // `unknown` says why; where that is empty, it may be told a little later.
  std::optional<SlurmJob> ByAccounts(std::int64_t job, std::string& unknown);

  SlurmBook& book_;
  SlurmJobs& jobs_;
};

}  // namespace sharewell::engine
