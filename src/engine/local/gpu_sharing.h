// GpuSharing: lets the runs on one GPU use it at the same time, through a CUDA MPS control daemon
// for each GPU that is started when the first run that may share comes, and stopped when the last
// has left.
//
// Where the driver can, a daemon of root's serves runs of all users at once. Where it cannot, each
// user has a daemon of their own on each GPU, and runs of different users share it by turns
// (time-slicing). So do all runs where MPS is not installed or does not start; on MIG slices; and
// with several GPUs, as a daemon is for one. A note says so. Exclusive runs have no need of it.
// Simulated GPUs are left alone.
//
// Daemons with runs outlive this object, and the next server finds them again. One thread, which
// never waits for a daemon: they are started and stopped by errands, and a run waits until its own
// is there.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/local/errands.h"
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
  // Looks for daemons that an earlier server left, which may take seconds. `answered` is called on
  // any thread when Answers has something new.
  explicit GpuSharing(SharingOptions options, std::function<void()> answered = {});
  // Waits for daemons that are being started or stopped.
  ~GpuSharing();
  GpuSharing(const GpuSharing&) = delete;
  GpuSharing& operator=(const GpuSharing&) = delete;

  struct Joined {
    platform::Environment environment;  // of the run; empty: by turns, or alone
    std::string pipes;                  // folder that a container must see; empty: none
    std::vector<std::string> notes;     // what the user should know
  };
  // A run is about to be started. Absent: its daemon is being started, and Answers will have it,
  // unless it leaves before.
  std::optional<Joined> Join(const RunRequest& request);
  std::vector<std::pair<RunId, Joined>> Answers();
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
  // Waits until no daemon is being started or stopped. For tests.
  void Settle() { errands_.FinishAll(); }

 private:
  struct Daemon {
    std::string gpu;                              // uuid
    std::shared_ptr<platform::MpsServer> server;  // none: it is being started or stopped
    std::map<RunId, bool> runs;                   // whether it is latency-sensitive
    std::vector<RunRequest> waiting;              // for it to come up
    std::chrono::steady_clock::time_point left;   // when the last went
  };

  // Of the daemon that serves that user's runs on that GPU; its file "gpu" names the GPU.
  std::string FolderOf(const std::string& uuid, std::uint32_t uid) const;
  platform::MpsOptions OptionsFor(const std::string& folder, const std::string& uuid) const;
  // Those that an earlier server left below the folder.
  void FindLeft();
  Joined JoinTo(Daemon& daemon, const RunRequest& request) const;
  void BeginStart(const std::string& folder);
  void Started(const std::string& folder, std::shared_ptr<platform::MpsServer> server,
               const std::string& why_not);
  void BeginStop(const std::string& folder);

  SharingOptions options_;
  std::string why_not_;                    // MPS is not to be had; empty: it is
  bool everybody_ = false;                 // a daemon serves all users
  std::map<std::string, Daemon> daemons_;  // by folder, as the next two
  std::map<std::string, std::chrono::steady_clock::time_point> refused_;  // did not start then
  std::set<std::string> died_;  // until a new one is there
  std::vector<std::pair<RunId, Joined>> answers_;
  std::vector<News> news_;
  Errands errands_;  // the last: what they do to the rest comes to an end first
};

}  // namespace sharewell::engine
