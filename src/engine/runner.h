// Runner: the seam between the server and whatever carries jobs out: processes on this machine
// (local/linux_runner.h), a Slurm or a Kubernetes cluster, a fake in tests. The service takes any
// of them.
//
// Why the seam is here and not at Engine: Engine is what the loop sees, simulated or real. Between
// the loop and anything real lies the same bookkeeping, whatever runs the jobs: who is believed to
// run, whose place is still being left, which answer is still owed, what an end means for the
// queue. LiveEngine (live/live_engine.h) keeps it once: submit, start, stop, cancel, requeue,
// adopt. What is left is starting and stopping runs and telling what became of them, and that is
// this face.
//
//   local       Start: a supervisor and its command   Stop, Cancel: SIGTERM, later SIGKILL
//   Slurm       Start: update (place) and release     Stop: requeue and hold   Cancel: scancel
//   Kubernetes  Start: claim and bind                 Stop: evict   Cancel: delete the pod
//
// The queue is ours: a job is handed over with its first start, not when it is submitted. The face
// is wider than others of the house, as these verbs are what managers have in common; what most
// need not tell apart (Cancel, ListEvery, List) has a default.
//
// Nothing here waits, except Wait, and Recover before the loop begins: a runner that has to ask a
// remote manager does so on a thread of its own and tells the answer as an event. An answer may
// come late, twice, or after one that is younger. Where one may be lost too, ListEvery says so, and
// LiveEngine finds it again with List.
//
// Jobs that the cluster's own users submit there (sbatch) come as JobSubmitted, with an Account, a
// Submission and the manager's own id, which becomes the job's number: the service admits and
// stores them as any other submission. They wait in the manager's queue, held there, until Start.
//
// One thread, except Wake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "engine/run_events.h"
#include "engine/run_request.h"

namespace sharewell::engine {

class Runner {
 public:
  virtual ~Runner() = default;
  virtual core::Seconds Now() = 0;  // never goes back
  // RunStarted, StartRefused or RunEnded follows. Again: nothing happens.
  virtual void Start(const RunRequest& request) = 0;
  // SIGTERM, and SIGKILL after the grace; RunEnded follows, or StopRefused where the manager does
  // not allow it now. Again, or of a run that is not there: nothing happens. A run that is stopped
  // before its start was carried out is not started.
  virtual void Stop(RunId id, core::Seconds grace) = 0;
  // A Stop of a job that does not go back into the queue, perhaps after a Stop. The same where a
  // job has nothing beside its runs.
  virtual void Cancel(RunId id, core::Seconds grace) { Stop(id, grace); }
  // Its processes wait, and what they have in GPU memory goes to the host's: RunPaused or
  // PauseRefused follows. `gpu_memory`: how much that is; absent: not known. Again, or of one that
  // an earlier server has paused: the same follows. False: this runner never can.
  virtual bool Pause(RunId /*id*/, std::optional<core::Bytes> /*gpu_memory*/) { return false; }
  // Back onto the same GPUs: RunResumed or ResumeRefused follows. Again: the same follows.
  virtual bool Resume(RunId /*id*/) { return false; }
  // In words with what to do; empty: runs that hold their GPUs alone can be paused here.
  virtual std::string WhyNoPause() { return "jobs cannot be paused here"; }
  virtual void SetCores(RunId id, double cores) = 0;
  virtual void SetShare(RunId id, core::Ratio share) = 0;  // of its cores' time
  // Its time limit, which was asked for, is this much instead. It never becomes shorter. Where the
  // manager cannot change the limit of what runs, nothing happens.
  virtual void SetTimeLimit(RunId /*id*/, core::Seconds /*limit*/) {}
  // What an earlier server started and has not ended, or ended meanwhile: each is told by events as
  // if this one had started it. The requests are as they were given to Start. May wait.
  virtual std::vector<RunRequest> Recover() = 0;
  // How often to look for answers that were lost. Absent: none ever is, List is not used.
  virtual std::optional<core::Seconds> ListEvery() const { return std::nullopt; }
  // RunsListed follows, with this token. It knows of every command given before this call: each was
  // carried out by then, or never will be.
  virtual void List(std::uint64_t /*token*/) {}
  // All that happened, in the order it was heard of; waits for the first until `until` or Wake().
  // Does not wait where `until` is not after Now(). Absent: for ever. False where nothing ever will
  // (a test's script is over).
  virtual bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) = 0;
  virtual void Wake() = 0;  // any thread; a Wait that is not under way yet returns at once
  // Of managers that have users of their own. Whether jobs are theirs: they come as JobSubmitted,
  // and one that is found running and that no store knows is a job all the same.
  virtual bool HasUsers() const { return false; }
  // That job is known, and waits: JobWithdrawn follows where the manager has it no more.
  virtual void Expect(std::int64_t /*job*/) {}
  // That job is over: where it still waits there, it is cancelled. Again, or where it does not
  // wait: nothing happens.
  virtual void CancelWaiting(std::int64_t /*job*/) {}
  // Why that job waits, in words, each time they change: where the manager shows them to its users.
  virtual void TellWaits(std::int64_t /*job*/, const std::string& /*words*/) {}
  // What keeps it from its work, in words with what to do; empty: nothing. A RunnerNote makes
  // a turn when it changes.
  virtual std::string Problem() { return {}; }
  // What has ended and been stored may be forgotten: its folder goes, its logs stay as asked.
  virtual void Forget(RunId id) = 0;
};

}  // namespace sharewell::engine
