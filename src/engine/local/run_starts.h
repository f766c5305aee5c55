// RunStarts: how a run is begun: its folder, CPUs and control group, its GPU and its user, then a
// supervisor that starts its command. Nothing here waits: what takes its time is an errand, and the
// run waits for it. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/local/gpu_sharing.h"
#include "engine/local/known_users.h"
#include "engine/local/local_book.h"
#include "engine/local/run_cpus.h"
#include "engine/local/run_signals.h"
#include "engine/local/run_watch.h"
#include "platform/process/child.h"

namespace sharewell::engine {

class RunStarts {
 public:
  RunStarts(LocalBook& book, RunSignals& signals, RunCpus& cpus, RunWatch& watch)
      : book_(book), signals_(signals), cpus_(cpus), watch_(watch), users_([&signals] {
          signals.RingErrandOver();
        }) {}

  // REQUIRES: it has its request, its folder's name and its logs'.
  void Begin(LocalRun& run);
  // Begins those that need not wait any more.
  void TakeErrands();

 private:
  core::Result<void> Prepare(LocalRun& run);
  core::Result<void> Launch(LocalRun& run, const GpuSharing::Joined& joined);
  void EndIfRefused(LocalRun& run, const core::Result<void>& started);
  // Its cores and control group. What cannot be bounded is added to its notes.
  void PrepareBounds(LocalRun& run, JobSpec& spec);
  core::Result<void> PrepareCommand(LocalRun& run, const GpuSharing::Joined& joined, JobSpec& spec);
  void PrepareLogs(LocalRun& run, JobSpec& spec);
  void PrepareUser(const LocalRun& run, platform::Environment& environment, JobSpec& spec,
                   std::vector<std::string>& notes);
  // The words of a command that is run in the image; how to remove its container goes to the spec.
  core::Result<std::vector<std::string>> InContainer(
      LocalRun& run, const GpuSharing::Joined& joined, platform::Environment& environment,
      const std::vector<platform::ProcessLimit>& limits, JobSpec& spec,
      std::vector<std::string>& notes) const;

  LocalBook& book_;
  RunSignals& signals_;
  RunCpus& cpus_;
  RunWatch& watch_;
  KnownUsers users_;
};

}  // namespace sharewell::engine
