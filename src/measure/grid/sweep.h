// Runs a grid of commands, cell by cell, each alone under watch, and keeps what is finished.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/gpu/gpus.h"
#include "core/result.h"
#include "measure/grid/sweep_journal.h"
#include "measure/grid/sweep_result.h"
#include "measure/watch.h"
#include "store/store.h"

namespace sharewell::measure {

struct GridProgress {
  std::size_t done = 0, of = 0;  // cells; those of before count as done
  std::string label;             // the cell that runs, or has just ended
  bool ended = false;            // it has: `entry` says how
  const JournalEntry* entry = nullptr;
  std::optional<core::Seconds> left = {};  // by the cells so far; absent: none was run yet
  const WatchLine* line = nullptr;         // of a cell that runs
};

using Runner =
    std::function<core::Result<Watched>(std::span<const RunSpec> specs, const WatchOptions& watch)>;

// What sweep and colocate have in common.
struct GridOptions {
  std::string folder;                    // cells.jsonl and logs/ go there
  bool retry = false;                    // what failed is tried again
  store::ProfileStore* store = nullptr;  // null: profiles are not stored
  WatchOptions watch;                    // collectors, environment, source
  Runner run;                            // measure::Watch, or a stand-in
  std::vector<int> cpus;                 // that may be given; rising
  std::vector<collect::GpuFacts> gpus;   // of this machine
  std::function<void(const GridProgress&)> progress = {};
};

// Cells that ran before with the same command and settings are not run again. What one cell meets
// (a bad exit, no memory) is its own failure; an error is returned where no cell could do better
// (the journal or the store cannot be written; the machine has not what they ask for).
core::Result<SweepResult> Sweep(const SweepSpec& spec, const GridOptions& options);

// The parts, for colocate.

// WatchOptions for runs measured like this.
WatchOptions WatchFor(const Measuring& measuring, const GridOptions& options);
// A command with what its axes mean applied; both outputs go to `log`.
struct RunRequest {
  std::string name;
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  core::Workload workload = {};
  std::optional<std::vector<int>> cpus = {};
  std::optional<int> threads = {}, gpus = {};
  std::optional<core::Bytes> memory = {};
  ThroughputSource throughput = {};
  std::string log = {};
};
RunSpec RunSpecFor(const RunRequest& request, const GridOptions& options);
RunSummary SummaryOf(const core::ProfileRecord& record);
// Why a run that ended with that code did: its last words. Empty code: it did not fail.
struct Failure {
  std::string why;
  bool out_of_memory = false;
};
std::optional<Failure> FailureOf(const core::ProfileRecord& record, const std::string& log,
                                 bool memory_killed = false);
// FOLDER/logs, made anew for `key`: what an earlier try wrote there is gone.
core::Result<std::string> FreshLog(const std::string& folder, const std::string& key);

}  // namespace sharewell::measure
