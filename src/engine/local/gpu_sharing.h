// GpuSharing: lets the runs on one GPU use it at the same time, through a CUDA MPS control daemon
// for each GPU that is started when the first run that may share comes, and stopped when the last
// has left.
//
// Runs go without MPS, and the GPU is then shared by turns (time-slicing), where MPS is not
// installed or does not start; on MIG slices; with several GPUs, as a daemon is for one; and beside
// a run of another user, as an MPS server serves one user at a time. A note says so. Exclusive runs
// have no need of it. Simulated GPUs are left alone.
//
// Daemons with runs outlive this object, and the next server finds them again. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "platform/process/mps.h"

namespace sharewell::engine {

struct SharingOptions {
  // Daemons have their folders below it. Short (sockets lie there), and jobs' users must be able to
  // reach it: it is made with mode 0755.
  std::string folder;
  std::string program = "nvidia-cuda-mps-control";
  bool mps = true;  // false: by turns only
};

class GpuSharing {
 public:
  explicit GpuSharing(SharingOptions options);
  ~GpuSharing();
  GpuSharing(const GpuSharing&) = delete;
  GpuSharing& operator=(const GpuSharing&) = delete;

  struct Joined {
    platform::Environment environment;  // of the run; empty: by turns, or alone
    std::string pipes;                  // folder that a container must see; empty: none
    std::vector<std::string> notes;     // what the user should know
  };
  // A run is about to be started. Takes up to 10 s where a daemon does not start as it should.
  Joined Join(const RunRequest& request);
  // A run was found again after a restart; `pipes`: as Join said.
  void Rejoin(const RunRequest& request, const std::string& pipes);
  void Leave(RunId id);  // unknown: nothing happens

  // Call it about every second: sees daemons that died (the next run gets a new one), and stops
  // those whose last run left a while ago.
  struct News {
    std::string gpu;  // uuid
    std::string text;
  };
  std::vector<News> Look();
  // Ends all daemons that nobody uses.
  void StopIdle();

 private:
  struct Daemon {
    std::unique_ptr<platform::MpsServer> server;
    std::uint32_t uid = 0;  // whose runs it serves
    std::set<RunId> runs;
    std::chrono::steady_clock::time_point left;  // when the last went
  };

  std::string FolderOf(const std::string& uuid) const;
  platform::MpsOptions OptionsFor(const std::string& uuid) const;
  // Those that an earlier server left below the folder.
  void FindLeft();
  // Empty: `uuid` has a daemon now that `uid` may use; else why not.
  std::string Provide(const std::string& uuid, std::uint32_t uid, std::vector<std::string>& notes);

  SharingOptions options_;
  std::string why_not_;                    // MPS is not to be had; empty: it is
  std::map<std::string, Daemon> daemons_;  // by the GPU's uuid
  std::map<std::string, std::chrono::steady_clock::time_point> refused_;  // did not start then
};

}  // namespace sharewell::engine
