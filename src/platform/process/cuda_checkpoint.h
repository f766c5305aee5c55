// CudaCheckpoint: moves what a running process has in GPU memory to the host's memory and back,
// without the process's help (CUDA's process checkpointing: cuCheckpointProcess* of libcuda,
// from driver 570 on). While it is there, the process's calls of CUDA wait; its other threads run.
//
// The library is opened at run time: nothing links to it. Whoever calls must be root or the
// process's own user. A client of MPS cannot be moved (801), and is unharmed by the attempt.
//
// Every call may take seconds, and one that the driver does not answer never returns: call it from
// a process that can be killed (sharewell-pause), never from a server's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::platform {

enum class CudaState : std::uint8_t {
  kRunning,
  kLocked,        // its calls wait, its memory is still on the GPU
  kCheckpointed,  // its memory is on the host
  kFailed,        // the driver could not bring it back: it will not go on
};

class CudaCheckpoint {
 public:
  // `library`: a path, or empty for the driver's own. kAbsent: there is none, or it is too old.
  static core::Result<CudaCheckpoint> Open(const std::string& library = "");
  ~CudaCheckpoint();
  CudaCheckpoint(CudaCheckpoint&&) noexcept;
  CudaCheckpoint& operator=(CudaCheckpoint&&) noexcept;

  // Absent: the process does not use CUDA, or is gone.
  std::optional<CudaState> StateOf(int pid) const;

  // All of them or none, as seen by who asks: their calls are held first, so that processes that
  // talk to each other stop at one place, then their memory is moved. Where one cannot, those that
  // were moved are brought back. Processes that are there already are left as they are.
  core::Result<void> Pause(const std::vector<int>& pids) const;
  // The other way round. Where one cannot be brought back, those that were are moved again: they
  // would wait for it, with GPU memory that nobody has reserved for them.
  core::Result<void> Resume(const std::vector<int>& pids) const;

 private:
  struct Api;
  explicit CudaCheckpoint(std::unique_ptr<Api> api);

  std::unique_ptr<Api> api_;
};

// Those of `pids` that use CUDA.
std::vector<int> CudaProcesses(const CudaCheckpoint& cuda, const std::vector<int>& pids);

}  // namespace sharewell::platform
