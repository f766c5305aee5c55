// SlurmControl: what a Slurm cluster does and what it is told, one look at a time. SlurmRunner
// calls it on a thread of its own; tests call it on a clock of theirs. One thread; each call may
// wait for Slurm.
//
// It puts the parts together and has the order of a look; nothing points back to it:
//
//   SlurmBook       what is known from one look to the next, as data
//   SlurmJobs       reads the queue and its jobs
//   SlurmNodes      reads the nodes, what is reserved, and what jobs start by
//   SlurmClaimant   keeps a second server from placing the same jobs
//   SlurmArrays     gives tasks of arrays ids of their own
//   SlurmWaiting    tells of the jobs that wait for us
//   SlurmTaken      tells of what somebody else has
//   SlurmEnds       says how runs begin and end
//   SlurmPlacer     writes places, checks and releases
//   SlurmRunSteps   takes runs from the release to the end
//   SlurmReasons    shows users in squeue why their jobs wait
//
// A job is placed in steps, each of which may fail, hang, or happen without its answer. Every step
// can be done again. What was done is never taken from an answer but read from Slurm; that makes it
// safe to end at any point and begin anew.
//
// Nothing is undone behind an admin's back: a job that somebody else has released, moved or changed
// is theirs (JobWithdrawn), and what they have is taken (GpuTaken).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/slurm/control/slurm_arrays.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_claimant.h"
#include "engine/slurm/control/slurm_control_options.h"
#include "engine/slurm/control/slurm_ends.h"
#include "engine/slurm/control/slurm_jobs.h"
#include "engine/slurm/control/slurm_nodes.h"
#include "engine/slurm/control/slurm_placer.h"
#include "engine/slurm/control/slurm_reasons.h"
#include "engine/slurm/control/slurm_run_steps.h"
#include "engine/slurm/control/slurm_taken.h"
#include "engine/slurm/control/slurm_waiting.h"

namespace sharewell::engine {

class SlurmControl final : public ClusterControl {
 public:
  // `client` must outlive it.
  SlurmControl(SlurmClient& client, SlurmControlOptions options);

  // Reads the nodes. An error too: another server places the jobs.
  core::Result<void> Open();
  // As ClusterBook has them.
  std::vector<RunnerNode> Nodes() const { return book_.Nodes(); }
  std::vector<std::string> Models() const { return book_.Models(); }
  const std::vector<std::string>& remarks() const { return book_.remarks(); }
  std::string problem() const { return problem_ ? problem_->words : std::string(); }
  // The last call: another server may begin at once.
  void Leave();

  // The runs that an earlier server has begun: they go on.
  core::Result<std::vector<RunRequest>> Recover();

  // Carried out by the next look, in order.
  void Start(const RunRequest& request) override { book_.Start(request); }
  void Stop(RunId id) override { book_.Stop(id); }
  void Cancel(RunId id) override { book_.Cancel(id); }
  void CancelWaiting(std::int64_t job) override { book_.CancelWaiting(job); }
  void Expect(std::int64_t job) override { book_.Expect(job); }
  void List(core::Seconds as_of) override { book_.List(as_of); }
  void Forget(RunId id) override { book_.Forget(id); }
  void SetTimeLimit(RunId id, core::Seconds limit) { steps_.SetTimeLimit(id, limit); }

  // One look, and all that follows from it. When the next one is due.
  core::Seconds Cycle(core::Seconds now, std::vector<RunEvent>& out);
  // Between two looks: carries out a few starts and stops that came since the last one, without
  // reading the whole queue again. When the next look is due.
  core::Seconds DoNow(core::Seconds now, std::vector<RunEvent>& out);

 private:
  struct Problem {
    std::string words;
    bool other_server = false;  // it places the jobs; else Slurm does not answer as it should
  };
  core::Result<void> Look();
  core::Result<void> AdvanceRuns();
  core::Result<void> StartMeanwhile();
  void TakeOn(SlurmJob job, const JobNote& note, RunRequest request);
  core::Seconds NextLook();
  core::Seconds Fail(const std::string& message);
  void Well();

  SlurmBook book_;
  SlurmJobs jobs_;
  SlurmNodes nodes_;
  SlurmClaimant claimant_;
  SlurmArrays arrays_;
  SlurmWaiting waiting_;
  SlurmTaken taken_;
  SlurmEnds ends_;
  SlurmPlacer placer_;
  SlurmRunSteps steps_;
  SlurmReasons reasons_;
  std::vector<RunEvent> found_;  // by Recover: told by the first Cycle
  core::Seconds again_at_;       // Slurm did not answer: not before then
  core::Seconds pause_;
  std::optional<Problem> problem_;
};

}  // namespace sharewell::engine
