// LiveEngine: carries plans out on this machine through a Runner, and tells the loop what happened
// in the loop's own words. The same scenario through it and through the simulated engine gives the
// same decisions (local_parity_test.cc).
//
// What a plan frees is not free before the process is gone: a start onto a GPU (or, for exclusive
// use, beside a job) that something still leaves waits for that, however long the loop believes it
// has been running.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job.h"
#include "engine/engine.h"
#include "engine/runner.h"

namespace sharewell::engine {

// What the engine must know of a job to start it and to judge its pace. Asked on the loop's thread.
class JobDirectory {
 public:
  virtual ~JobDirectory() = default;
  // All but gpus, cores, thread_share, gpu_memory and shares, which are the plan's.
  virtual RunRequest RequestOf(core::JobId job) const = 0;
  // Steps a second of the job alone on that GPU model, and how much work (seconds alone on the
  // reference model) a second alone there is; absent: not known, the job is taken to run at `rate`.
  virtual std::optional<double> StepsAlone(core::JobId job) const = 0;
  virtual core::Ratio RateAlone(core::JobId job) const = 0;
  // Attempts that begin at a step above 0 (from a checkpoint) keep what was done before.
};

// What a run's end means for the queue.
enum class Outcome : std::uint8_t { kFinished, kFailed, kOutOfMemory, kRequeued };

struct Ended {
  core::JobId job;
  RunId run;
  RunEnd end;
  Outcome outcome = Outcome::kFailed;
};

struct LiveOptions {
  core::Seconds grace{20};  // between SIGTERM and SIGKILL
  int most_ooms = 1;        // so often it is tried again, alone; then it has failed
};

class LiveEngine final : public Engine {
 public:
  // All must outlive it. `gpus`: by GpuId.
  LiveEngine(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus, Runner& runner,
             const JobDirectory& directory, const LiveOptions& options = {});
  ~LiveEngine() override;

  bool Observe(std::optional<core::Seconds> wake, Observation& out) override;
  void Apply(const core::Plan& plan, Observation& out) override;

  // Any thread; seen by the next Observe, which is woken.
  void Submit(core::Job job);
  void Wake();

  // The loop's thread.
  // A waiting job leaves the queue (held, cancelled); told as failed. It may come back under
  // another id.
  void Withdraw(core::JobId job);
  // A running job is ended, and told as failed once it is gone.
  void Cancel(core::JobId job);
  // A running job is ended, and goes back into the queue once it is gone (it shared badly, or its
  // GPU is lost).
  void Requeue(core::JobId job);
  // Found running after a restart: the job is there already, as `request` was started.
  void Adopt(core::JobId job, const RunRequest& request);

  // What ended, what was noted and what was lost since the last call: for records and users.
  std::vector<Ended> TakeEnded();
  std::vector<RunEvent> TakeNotes();  // kStarted, kEnding, kNote, kGpuLost, kGpuBack

  // Steps of the attempt under way; absent: none told.
  std::optional<double> StepsOf(core::JobId job) const;
  std::optional<double> StepsPerSecond(core::JobId job) const;  // lately

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::engine
