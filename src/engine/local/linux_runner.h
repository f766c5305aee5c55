// LinuxRunner: real process trees. Each run has a small supervisor process of its own
// (sharewell-supervise), which owns the command and its exit status: this process may be killed at
// any moment, and the next one finds every run again, none twice.
//
// What cannot be bounded here (no control groups, no right to change users) is told by a note, once
// a run, or once by the first run where that is the machine's way. Runs go on when the object goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/local/cpu_room.h"
#include "engine/local/gpu_sharing.h"
#include "engine/local/run/old_logs.h"
#include "engine/pauser.h"
#include "engine/runner.h"

namespace sharewell::engine {

struct LinuxRunnerOptions {
  std::string state;                          // folder for jobs and logs; made if it is not there
  std::string store_id;                       // whose jobs they are (store::JobStore::Id)
  core::Seconds origin;                       // what Now() begins at
  core::Seconds grace{20};                    // after a time limit; Stop() brings its own
  core::Bytes log_limit{64.0 * 1024 * 1024};  // of each of a job's two streams
  LogRetention logs;                          // what users, and all together, may have
  int most_processes = 4096;                  // of a run
  std::string watcher;                        // folder that runs with Python have in front of their
                                              // path; empty: none is watched from inside
  std::string supervisor;                     // the program; empty: engine::FindSupervisor()
  std::string pauser;                         // likewise: engine::FindPauser()
  core::Seconds pause_patience{300};          // a pause that takes longer is given up
  std::optional<CpuRoom::Layout> cpus;        // absent: runs are not kept to CPUs of their own
  std::map<std::string, int> gpu_nodes;       // uuid -> NUMA node, where it is known
  std::optional<SharingOptions> sharing;      // absent: GPUs are shared by turns
  core::Seconds fall_patience{5};             // so long neighbours may outlive a run that failed
  // GPUs that do not answer now, by uuid, each with why; asked once a second by Wait, which it must
  // not hold up. Not set: GPUs are never told as lost.
  std::function<std::map<std::string, std::string>()> lost_gpus;
  std::string cgroup_root = "/";         // for tests
  std::string kernel_log = "/dev/kmsg";  // likewise
};

class LinuxRunner final : public Runner, public Pauser {
 public:
  // Whether no other server runs jobs there. Open takes the lock for good; this is for who wants to
  // know before anything is made.
  static core::Result<void> FolderIsFree(const std::string& state);
  // What runs there, or has ended and was not forgotten. Of one whose folder was spoilt, the id is
  // all that is known. For who wants to know before a runner is opened.
  static std::vector<RunRequest> RunsIn(const std::string& state);
  // Fails where the state folder cannot be used, another server uses it, or there is no supervisor.
  static core::Result<std::unique_ptr<LinuxRunner>> Open(LinuxRunnerOptions options);
  ~LinuxRunner() override;

  core::Seconds Now() override;
  void Start(const RunRequest& request) override;
  void Stop(RunId id, const StopOrder& order) override;
  void Change(RunId id, const RunBounds& bounds) override;
  void Forget(RunId id) override;
  std::vector<RunRequest> Recover() override;
  bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) override;
  void Wake() override;

  void Pause(RunId id, std::optional<core::Bytes> gpu_memory) override;
  void Resume(RunId id) override;
  std::string WhyNoPause() override;

  // Who writes logs, and how much; as long as the runner.
  LogLedger& ledger();

  // The command's process; absent: it does not run.
  std::optional<int> PidOf(RunId id) const;
  // Its control group of v2; empty: none.
  std::string CgroupOf(RunId id) const;

 private:
  struct Impl;
  explicit LinuxRunner(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::engine
