// RunPauses: the pauser of this machine (engine/pauser.h). A process of its own (sharewell-pause)
// makes the driver's calls, which may take long or never return. What it has reached stands in the
// run's folder. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/local/local_book.h"
#include "engine/local/run_cpus.h"
#include "engine/local/run_signals.h"

namespace sharewell::engine {

class RunPauses {
 public:
  RunPauses(LocalBook& book, RunSignals& signals, RunCpus& cpus)
      : book_(book), signals_(signals), cpus_(cpus) {}

  // As Pauser has them.
  void Pause(RunId id, std::optional<core::Bytes> gpu_memory);
  void Resume(RunId id);
  std::string WhyNoPause();

  void Look();  // what has ended is told; what takes too long is killed
  bool any() const { return !at_work_.empty(); }

 private:
  struct AtWork {
    RunId id;
    bool pause = true;  // false: a resume
    int pidfd = -1;
    core::Seconds since;
    bool killed = false;
  };
  void Start(LocalRun& run, bool pause);
  void Emit(const AtWork& done, int status);
  void Refuse(RunId id, bool pause, std::string why);

  LocalBook& book_;
  RunSignals& signals_;
  RunCpus& cpus_;
  std::string program_;
  std::optional<std::string> why_not_;  // once it was looked at; empty: it can
  std::map<int, AtWork> at_work_;       // by pid
};

}  // namespace sharewell::engine
