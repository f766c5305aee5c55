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
//   local       Start: a supervisor and its command   Stop: SIGTERM, later SIGKILL
//   Slurm       Start: update (place) and release     Stop: requeue and hold; it cancels: scancel
//   Kubernetes  Start: claim and bind                 Stop: evict; it cancels: delete the pod
//
// The queue is ours: a job is handed over with its first start, not when it is submitted. What only
// some can do has a face of its own, which whoever makes the service hands over: managers that have
// users of their own (foreign_queue.h), and runners that can pause what runs (pauser.h).
//
// Nothing here waits, except Wait, and Recover before the loop begins: a runner that has to ask a
// remote manager does so on a thread of its own and tells the answer as an event. An answer may
// come late, twice, or after one that is younger. Where one may be lost too, the runner tells all
// that is there now and then (RunsListed), and LiveEngine finds what it has not heard of.
//
// One thread, except Wake.
#pragma once

#include <optional>
#include <vector>

#include "core/units.h"
#include "engine/run_events.h"
#include "engine/run_request.h"

namespace sharewell::engine {

// How a run is to end.
struct StopOrder {
  core::Seconds grace{};  // from SIGTERM to SIGKILL, unless the manager has one of its own
  // The job does not go back into the queue; perhaps after a Stop without it. No difference where a
  // job has nothing beside its runs.
  bool cancels = false;
};

// What a run may use, from now on. Absent: as it was.
struct RunBounds {
  std::optional<double> cores = {};
  std::optional<core::Ratio> share = {};  // of its cores' time
  // Instead of the time limit that was asked for. It never becomes shorter.
  std::optional<core::Seconds> time_limit = {};
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual core::Seconds Now() = 0;  // never goes back
  // RunStarted, StartRefused or RunEnded follows. Again: nothing happens.
  virtual void Start(const RunRequest& request) = 0;
  // RunEnded follows, or StopRefused where the manager does not allow it now. Again, or of a run
  // that is not there: nothing happens. A run that is stopped before its start was carried out is
  // not started.
  virtual void Stop(RunId id, const StopOrder& order) = 0;
  // What cannot be changed stays as it is, perhaps with a RunNote.
  virtual void Change(RunId id, const RunBounds& bounds) = 0;
  // What has ended and been stored may be forgotten: its folder goes, its logs stay as asked.
  virtual void Forget(RunId id) = 0;
  // What an earlier server started and has not ended, or ended meanwhile: each is told by events as
  // if this one had started it. The requests are as they were given to Start. May wait.
  virtual std::vector<RunRequest> Recover() = 0;
  // All that happened, in the order it was heard of; waits for the first until `until` or Wake().
  // Does not wait where `until` is not after Now(). Absent: for ever. False where nothing ever will
  // (a test's script is over).
  virtual bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) = 0;
  virtual void Wake() = 0;  // any thread; a Wait that is not under way yet returns at once
};

}  // namespace sharewell::engine
