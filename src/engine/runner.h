// Runner: starts and ends process trees on this machine and tells what becomes of them. The local
// engine speaks to it alone, so that tests can stand in for processes and for time.
//
// One thread, except Wake.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/job_record.h"
#include "core/units.h"

namespace sharewell::engine {

// One start of one job: its folder is named so, and is made once.
struct RunId {
  std::int64_t job = 0;
  int attempt = 0;

  friend auto operator<=>(const RunId&, const RunId&) = default;
};

struct RunRequest {
  RunId id;
  core::Account user;
  core::Submission asked;
  std::vector<core::GivenGpu> gpus;
  double cores = 0;  // 0: not bounded
  // On a GPU that others may share: what it may take of it. Absent: not bounded.
  std::optional<core::Ratio> thread_share;
  std::optional<core::Bytes> gpu_memory;  // pinned device memory limit
  bool shares = false;                    // others are, or may come to be, on the same GPU
};

struct RunEnd {
  int exit_code = 0;  // as a shell has it: 128 + signal
  int signal = 0;
  bool out_of_memory = false;  // of a GPU
  bool timed_out = false;      // its own time limit
  bool lost = false;           // the machine went down under it, or its supervisor was killed
  bool stopped = false;        // somebody asked it to end: us, or a machine that was shut down
  std::optional<core::Seconds> ran = {};  // as its supervisor saw it
  std::string message;  // why it could not be started, or what is known; may be empty
};

struct RunEvent {
  enum class Kind : std::uint8_t {
    kStarted,   // the command runs
    kProgress,  // steps, as the job tells them
    kEnding,    // its time limit is over, and it was told to end; again by a later server
    kEnded,     // nothing of it is left
    kNote,      // message: a limit that cannot be kept here, and why
    kGpuLost,   // gpu: it does not answer any more; message: why
    kGpuBack,
  };
  Kind kind = Kind::kEnded;
  RunId id;
  double steps = 0;  // kProgress: so far in this attempt
  RunEnd end;        // kEnded
  std::string gpu;   // uuid
  std::string message;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual core::Seconds Now() = 0;  // never goes back
  // Never fails: what cannot be started ends at once, and its end says why.
  virtual void Start(const RunRequest& request) = 0;
  // SIGTERM, and SIGKILL after the grace; kEnded follows. Again: nothing happens.
  virtual void Stop(RunId id, core::Seconds grace) = 0;
  virtual void SetCores(RunId id, double cores) = 0;
  virtual void SetShare(RunId id, core::Ratio share) = 0;  // of its cores' time
  // What an earlier server started and has not ended, or ended meanwhile: each is told by events as
  // if this one had started it. The requests are as they were given to Start.
  virtual std::vector<RunRequest> Recover() = 0;
  // All that happened, in the order it did; waits for the first until `until` or Wake(). Absent:
  // for ever. False where nothing ever will (a test's script is over).
  virtual bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) = 0;
  virtual void Wake() = 0;  // any thread; a Wait that is not under way yet returns at once
  // What has ended and been stored may be forgotten: its folder goes, its logs stay as asked.
  virtual void Forget(RunId id) = 0;
};

}  // namespace sharewell::engine
