// RunSignals: what the runner of this machine waits for: somebody who wakes it, an errand that is
// over, something new in a run's folder, a process that has ended. One thread, except where it says
// so.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/result.h"
#include "engine/local/local_run.h"

namespace sharewell::engine {

class RunSignals {
 public:
  enum class Kind : std::uint8_t { kWoken, kErrandOver, kFolder, kEnded, kOtherEnded };
  struct Signal {
    Kind kind = Kind::kWoken;
    RunId run = {};  // of kFolder and kEnded
  };

  RunSignals() = default;
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  core::Result<void> Open();
  void Wake() const;            // any thread
  void RingErrandOver() const;  // likewise

  // Those that have come, in their order; waits for the first so long, below 0: for ever.
  std::vector<Signal> Wait(int timeout_ms);

  // Where the kernel cannot, the run is looked at once a second.
  void WatchFolder(LocalRun& run);
  void LeaveFolder(LocalRun& run);
  void WatchProcess(LocalRun& run);  // its supervisor, once it has a pidfd
  void LeaveProcess(LocalRun& run);  // and closes it
  // A process that is of no run itself. It is left when its file is closed. -1: nothing happens.
  void WatchOther(int pidfd) const;

 private:
  bool Add(int file) const;
  void ReadFolders(std::vector<Signal>& out) const;

  int wake_ = -1, errand_over_ = -1, epoll_ = -1, inotify_ = -1;
  std::map<int, RunId> by_watch_, by_pidfd_;
};

}  // namespace sharewell::engine
