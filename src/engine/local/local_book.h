// LocalBook: what the parts of the runner of this machine share: its runs, and what is yet to be
// told of them. RunStarts begins runs, RunWatch sees what becomes of them, RunCpus, RunPauses and
// RunFalls do what their names say, and RunSignals wakes them all. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/local/gpu_sharing.h"
#include "engine/local/linux_runner.h"
#include "engine/local/local_run.h"
#include "engine/run_events.h"
#include "platform/process/cgroup_home.h"

namespace sharewell::engine {

struct LocalBook {
  explicit LocalBook(LinuxRunnerOptions chosen);
  ~LocalBook();
  LocalBook(const LocalBook&) = delete;
  LocalBook& operator=(const LocalBook&) = delete;

  core::Seconds Now() const;
  LocalRun* Find(RunId id);  // null: there is none
  void Emit(RunEvent event) { pending.push_back(std::move(event)); }
  // The run is forgotten with its folder, where somebody has asked for that before it ended.
  void EmitEnd(LocalRun& run, RunEnd end);
  bool IsNews(const std::string& note) { return told.insert(note).second; }

  // Of a run's control group; without a job what all names begin with.
  std::string GroupName(RunId id) const;
  std::string LogsOf(const RunRequest& request) const;
  // NUMA node of its first GPU; absent: it has none, or nobody knows.
  std::optional<int> GpuNodeOf(const RunRequest& request) const;
  static void RemoveFolder(const std::string& folder);

  const LinuxRunnerOptions options;
  std::string supervisor;  // the program
  std::optional<platform::CgroupHome> home;
  std::optional<LogLedger> ledger;  // once it is open
  std::optional<GpuSharing> sharing;
  std::map<RunId, LocalRun> runs;                          // until they are forgotten
  std::vector<std::unique_ptr<platform::Cgroup>> leaving;  // groups that were still busy
  std::vector<RunEvent> pending;
  std::set<std::string> told;  // notes about this machine
  const double zero;           // of the steady clock
};

}  // namespace sharewell::engine
