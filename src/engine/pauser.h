// Pauser: takes runs off their GPUs and puts them back, with their processes. A runner that can is
// one; the loop's thread.
#pragma once

#include <optional>
#include <string>

#include "core/units.h"
#include "engine/run_request.h"

namespace sharewell::engine {

// Where there is none: a stopped process of a cluster's job would keep what it has on its GPU, as
// nobody moves that for a manager.
inline constexpr const char* kNoPauser =
    "jobs of a cluster's manager are not paused: their GPU memory would stay taken";

class Pauser {
 public:
  virtual ~Pauser() = default;
  // Its processes wait, and what they have in GPU memory goes to the host's: RunPaused or
  // PauseRefused follows. `gpu_memory`: how much that is; absent: not known. Again, or of one that
  // an earlier server has paused: the same follows. Of one that is not there: nothing follows but
  // its end.
  virtual void Pause(RunId id, std::optional<core::Bytes> gpu_memory) = 0;
  // Back onto the same GPUs: RunResumed or ResumeRefused follows. Again: the same follows.
  virtual void Resume(RunId id) = 0;
  // In words with what to do; empty: runs that hold their GPUs alone can be paused here.
  virtual std::string WhyNoPause() = 0;
};

}  // namespace sharewell::engine
