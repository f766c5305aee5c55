// SlurmWaiting: the jobs that wait in Slurm for us: tells the service of them, of what Slurm itself
// keeps them waiting for, and of what became of those that wait no more.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "engine/slurm/control/slurm_arrays.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_jobs.h"
#include "engine/slurm/control/slurm_nodes.h"

namespace sharewell::engine {

class SlurmWaiting {
 public:
  SlurmWaiting(SlurmBook& book, SlurmJobs& jobs, const SlurmNodes& nodes, const SlurmArrays& arrays)
      : book_(book), jobs_(jobs), nodes_(nodes), arrays_(arrays) {}

  // A job that we were told to wait with is not in the queue: what became of it?
  core::Result<void> LookAtGone();
  // New ones, changed terms, and those that somebody else has released. One that somebody else
  // holds waits for them, and its terms say so.
  void EmitWaiting();

 private:
  core::Result<void> EmitGone(std::int64_t id);
  void EmitSubmitted(std::int64_t id, SlurmKnown& known, const SlurmFacts& facts);
  void EmitTerms(std::int64_t id, SlurmKnown& known, const SlurmFacts& facts);
  StartTerms TermsNow(const SlurmKnown& known, const SlurmFacts& facts) const;
  SlurmFacts Facts() const;
  SlurmJob NamingTheOneBefore(const SlurmJob& job) const;
  void KeepToLargeNodes(const SlurmJob& job, core::Submission& asked) const;
  void AskForWholeNodes(const SlurmJob& job, core::Submission& asked) const;
  void KeepAloneWithoutRights(ForeignJob& foreign) const;
  bool PutPrediction(const SlurmKnown& known, ForeignJob& foreign) const;  // false: not known yet

  SlurmBook& book_;
  SlurmJobs& jobs_;
  const SlurmNodes& nodes_;
  const SlurmArrays& arrays_;
};

}  // namespace sharewell::engine
