// RunWatch: what becomes of a run that was started, by this server or an earlier one: its start,
// its steps, its end, as its supervisor writes them into its folder. One thread.
#pragma once

#include "engine/local/local_book.h"
#include "engine/local/run/job_folder.h"
#include "engine/local/run_cpus.h"
#include "engine/local/run_falls.h"
#include "engine/local/run_signals.h"

namespace sharewell::engine {

class RunWatch {
 public:
  RunWatch(LocalBook& book, RunSignals& signals, RunCpus& cpus, RunFalls& falls)
      : book_(book), signals_(signals), cpus_(cpus), falls_(falls) {}

  void Begin(LocalRun& run);  // hears of its end
  // A run of an earlier server.
  void Adopt(RunId id, const JobSpec& spec);
  void LookAtFolder(LocalRun& run);  // something was written there
  void LookAtAll();                  // once a second
  void LookAtFirstSteps();  // of runs that told of steps only once: their pace is waited for
  bool any_first_steps() const;
  void EndIfGone(LocalRun& run);  // its supervisor has ended, or may have
  void Finish(LocalRun& run, RunEnd end);
  // To its supervisor: SIGTERM to all, and SIGKILL after the grace.
  static void Signal(const LocalRun& run, core::Seconds grace);

 private:
  void LookAtStart(LocalRun& run);
  void LookAtProgress(LocalRun& run);
  void LookAtMetrics(LocalRun& run);
  void LookAtTold(LocalRun& run);
  void LookAtEnding(LocalRun& run);

  LocalBook& book_;
  RunSignals& signals_;
  RunCpus& cpus_;
  RunFalls& falls_;
};

}  // namespace sharewell::engine
