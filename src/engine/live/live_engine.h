// LiveEngine: carries plans out through a Runner, and tells the loop what happened in the loop's
// own words. The same for processes on this machine and for a cluster's manager: all that is common
// to them is here (runner.h says why). The same scenario through it and through the simulated
// engine gives the same decisions (control/loop/parity_test.cc).
//
// What a plan frees is not free before the run is gone: a start onto a GPU (or, for exclusive use,
// beside a job) that something still leaves waits for that, however long the loop believes it has
// been running. A start that was refused goes back into the queue, with the reason; a next one of
// the same job waits a while, longer each time. A runner whose answers may be lost is asked for
// them again.
//
// It is handed what it needs: a job's request when it is submitted, its pace when it is placed and
// whenever more is learnt. Nothing is fetched from whoever owns it.
//
// Apply and all commands return at once: none waits for the runner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job.h"
#include "core/renumbering.h"
#include "engine/engine.h"
#include "engine/live/ended.h"
#include "engine/live/lone_pace.h"
#include "engine/pauser.h"
#include "engine/runner.h"

namespace sharewell::engine {

struct LiveOptions {
  core::Seconds grace{20};   // between SIGTERM and SIGKILL
  int most_ooms = 1;         // so often it is tried again, alone; then it has failed. A guest's
                             // first is not counted
  bool alone = false;        // the policy never puts two jobs on one GPU: runs need not share it
  Pauser* pauser = nullptr;  // must outlive the engine; null: nothing can be paused
};

class LiveEngine final : public Engine {
 public:
  // The runner must outlive it. `gpus`: by GpuId of `cluster`, which is read here alone.
  LiveEngine(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus, Runner& runner,
             const LiveOptions& options = {});
  ~LiveEngine() override;

  bool Observe(std::optional<core::Seconds> wake, Observation& out) override;
  void Apply(const core::Plan& plan, Observation& out) override;

  void Wake();  // any thread: an Observe that waits returns

  // All else on the loop's thread.
  // Seen by the next Observe. Of the request, `user`, `asked` and `id` count: its job, and how many
  // attempts were made before. Each start and move that is applied is the next attempt.
  void Submit(core::Job job, RunRequest request);
  // A waiting job leaves the queue (held, cancelled); told as failed. It may come back under
  // another id.
  void Withdraw(core::JobId job);
  // A running job is ended, and told as failed once it is gone.
  void Cancel(core::JobId job);
  // A running job is ended, and goes back into the queue once it is gone (it shared badly, or its
  // GPU is lost).
  void Requeue(core::JobId job);
  // Found running after a restart: the job is there already, as `run` was started. A later
  // attempt is made of `next`, which comes from the store: what lies in a job's folder says what
  // runs, not who it may run as. Its id has the attempts that were decided on so far.
  void Adopt(core::JobId job, const RunRequest& run, RunRequest next);
  void SetPace(core::JobId job, const LonePace& pace);
  // What runs may run for so long (RunBounds).
  void SetTimeLimit(core::JobId job, core::Seconds limit);

  // Pauses. A plan may stop a job so that its process stays (core::Stop::pause); it goes on with
  // its next start, as the same attempt. Where it cannot be paused, it is stopped as any other.
  // What it has in GPU memory, for pauses; absent: not known.
  void SetGpuMemory(core::JobId job, std::optional<core::Bytes> memory);
  // Somebody asks for it: a running job is paused. RunPaused follows, then Park it; or
  // PauseRefused, and it runs on.
  void Pause(core::JobId job);
  // A paused job leaves the queue, told as failed, and keeps its process. Submitted again, under
  // another id, it waits as a paused one.
  void Park(core::JobId job);
  // One that an earlier server had parked or paused. REQUIRES: there is a pauser.
  void ParkFound(const RunRequest& run, RunRequest next);
  // Its process is ended; false: there is none. The end is told with an id that is not valid.
  bool CancelParked(std::int64_t number);
  // One that an earlier server was about to resume, and that was adopted.
  void ResumeFound(core::JobId job);
  // A node that was told to have come, and is new: its GPUs have the next GpuIds. REQUIRES: the
  // cluster has it as its last node.
  void AddNode(const RunnerNode& node);
  // Whoever it will still speak of stays.
  void MarkStaying(std::vector<bool>& stays) const;
  // Jobs have new ids from now on. REQUIRES: all that MarkStaying marks stay, and all that was
  // submitted was observed.
  void Renumber(const core::Renumbering& ids);

  // What ended, what was noted and what was lost since the last call: for records and users.
  std::vector<Ended> TakeEnded();
  // RunStarted, TimeLimitReached, RunNote, RunTold; RunPaused, RunResumed and their refusals;
  // StopRefused; GpuLost, GpuBack, NodeCame, NodeWent: once each time it changed. All that a
  // manager with users of its own tells (JobSubmitted and those after it) as it comes. Never
  // StartRefused, RunProgress, RunMetrics, RunEnded or RunsListed: they are Ended, steps, metrics,
  // or found again.
  std::vector<RunEvent> TakeNotes();

  // Somebody who was stopped is still on its way out of one of these.
  bool IsBeingLeft(const std::vector<core::GpuId>& gpus) const;
  Heard HeardOf(core::JobId job) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::engine
