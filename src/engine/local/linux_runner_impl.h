// What the runner is made of.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/local/errands.h"
#include "engine/local/linux_runner.h"
#include "engine/local/run/job_folder.h"
#include "engine/local/run_setup.h"
#include "platform/process/bandwidth_group.h"
#include "platform/process/cgroup_home.h"

namespace sharewell::engine {

struct LinuxRunner::Impl {
  struct Run {
    RunRequest request;  // with the cores it has now
    std::string folder, logs;
    int log_row = -1;    // in the ledger of logs; -1: none
    int supervisor = 0;  // its pid while it is our child; 0: an earlier server's
    int pidfd = -1;
    int watch = -1;  // of the folder, until the command runs; with a time limit, to its end
    std::optional<int> command;  // its pid, once it was told as started
    core::Seconds since;         // when it was
    std::vector<int> lent;       // all CPUs that it may use now; empty: its own
    std::unique_ptr<platform::Cgroup> group;
    std::unique_ptr<platform::BandwidthGroup> bandwidth;  // while it is slowed, where there is one
    // It waits to be begun: for what is known of its user, and then, with a spec, for its GPU.
    bool waits = false;
    std::optional<engine::JobSpec> spec;
    std::vector<std::string> notes;
    bool mps = false;     // a client of MPS
    double steps = 0;     // told
    bool made = false;    // its folder is ours to remove
    bool ending = false;  // told so
    bool ended = false;
    bool forgotten = false;  // it is to go without a word when it ends
    std::string pipes;       // of the MPS daemon that it is under; empty: none
    // How it ended, until it is clear whether its neighbours fell with it.
    std::optional<RunEnd> unjudged;
    core::UnixMillis ended_at = 0;  // as its supervisor saw it
    core::Seconds judged_by;        // at the latest
  };
  // A sharewell-pause at work.
  struct Pauser {
    RunId id;
    bool pause = true;  // false: a resume
    int pidfd = -1;
    core::Seconds since;
    bool killed = false;
  };
  struct KnownUser {
    RunUser user;
    core::Seconds asked;
    bool asking = false;
  };

  explicit Impl(LinuxRunnerOptions chosen);
  ~Impl();

  core::Seconds Now() const;
  core::Result<void> Open();
  static void BoundBandwidth(Run& run, core::Ratio share);

  // linux_runner_start.cc
  // Nothing here waits: what takes its time is an errand, and the run waits for it.
  void Begin(Run& run);
  core::Result<void> Prepare(Run& run);
  core::Result<void> Launch(Run& run, const GpuSharing::Joined& joined);
  void EndIfRefused(Run& run, const core::Result<void>& started);
  bool KnowsUser(const core::Account& account);  // false: it is being asked for
  void TakeErrands();                            // begins those that need not wait any more
  // Its cores and control group. What cannot be bounded is added to `notes`.
  void PrepareBounds(Run& run, engine::JobSpec& spec, std::vector<std::string>& notes);
  core::Result<void> PrepareCommand(const Run& run, const GpuSharing::Joined& joined,
                                    engine::JobSpec& spec);
  core::Result<void> PrepareFolder(Run& run);
  void PrepareLogs(Run& run, engine::JobSpec& spec);
  void PrepareUser(const Run& run, platform::Environment& environment, engine::JobSpec& spec,
                   std::vector<std::string>& notes);
  std::string GroupName(RunId id) const;
  std::string LogsOf(const RunRequest& request) const;

  // linux_runner_watch.cc
  void Watch(Run& run);  // hears of its start and its end
  void Adopt(const RunId& id, const engine::JobSpec& spec);
  void LookAtStart(Run& run);
  void LookAtProgress(Run& run);
  void LookAtEnding(Run& run);
  void EndIfGone(Run& run);  // its supervisor has ended, or may have
  RunEnd HowItEnded(Run& run);
  void Finish(Run& run, RunEnd end);
  void TellEnd(Run& run, RunEnd end);
  void JudgeFalls();  // of those whose neighbours are gone, or have outlived them for a while
  void Look();        // once a second
  void TakeSignals(int timeout_ms);
  void Signal(const Run& run, core::Seconds grace);
  void RemoveFolder(const std::string& folder) const;
  void Tell(RunEvent event) { pending.push_back(std::move(event)); }

  // linux_runner_pause.cc
  bool StartPauser(Run& run, bool pause);
  void LookAtPausers();  // what has ended is told; what takes too long is killed
  void TellPause(const Pauser& done, int status);
  void Refuse(RunId id, bool pause, std::string why);
  void SetMemory(const Run& run, std::optional<core::Bytes> more);

  // linux_runner_cpus.cc
  void TakeCpus(Run& run);  // again, after a pause
  void ApplyCpus(Run& run, const std::vector<int>& cpus);
  void LendCpus();  // once a second, and whenever CPUs change hands

  Run* Find(RunId id);

  const LinuxRunnerOptions options;
  std::string supervisor, pauser;
  std::optional<platform::CgroupHome> home;
  std::optional<LogLedger> ledger;  // once it is open
  std::optional<CpuRoom> room;
  std::optional<GpuSharing> sharing;
  std::map<RunId, Run> runs;  // until they are forgotten
  std::map<int, RunId> by_watch, by_pidfd;
  std::map<int, Pauser> pausers;                           // by pid
  std::optional<std::string> why_no_pause;                 // once it was looked at; empty: it can
  std::vector<std::unique_ptr<platform::Cgroup>> leaving;  // groups that were still busy
  std::vector<RunEvent> pending;
  std::map<std::uint32_t, KnownUser> users;
  std::set<std::string> told;               // notes about this machine
  std::map<std::string, std::string> lost;  // GPUs, when last looked
  core::Seconds looked, busy_until;
  double zero = 0;  // of the steady clock
  int lock = -1, wake = -1, epoll = -1, inotify = -1;
  int errand_over = -1;
  bool woken = false;
  bool unjudged = false;           // some run is
  std::optional<Errands> errands;  // the last: they end first
};

}  // namespace sharewell::engine
