// Runs commands under watch, together, and says what each needed: the engine of profile, sweep,
// colocate and sensitivity.
//
// Samples all collectors at one interval, finds when every job has warmed up, and takes its figures
// from one window in which all of them were steady and ran. One thread does everything; it is the
// caller's. Signals that come to this process meanwhile (INT, TERM, HUP) go on to the jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "collect/collector.h"
#include "collect/jobs.h"
#include "core/job/profile_record.h"
#include "core/result.h"
#include "measure/throughput.h"
#include "platform/process/child.h"

namespace sharewell::measure {

class WatchWorld;

using Facts = std::vector<std::pair<std::string, std::string>>;

struct RunSpec {
  std::string name;  // unique among those run together: Reading::job, ProfileRecord::name
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to ours
  std::string folder = {};                                            // to start in; empty: ours
  // Bounds, applied for real; what could not be applied stands in the record's notes.
  std::optional<std::vector<int>> cpus = {};
  std::optional<double> cpu_time = {};     // CPU seconds a second
  std::optional<core::Bytes> memory = {};  // of the host
  ThroughputSource throughput = {};        // by default the progress file, if the job writes one
  core::Workload workload = {};            // empty name: `name`
  std::string gpu = {};                    // GPU model, for Profile::gpu
  // Its GPUs, as Reading::instance has them. Empty: those it was seen on, else, when there is only
  // one in the machine, that.
  std::vector<std::string> gpus = {};
  platform::ChildOutput out = {}, err = {};
  bool reads_stdin = false;
};

enum class Until {
  kSettled,  // the figures have settled
  kFor,      // `window` after the warm-up
  kEnd,      // the jobs end by themselves
};

struct WatchJobLine {
  std::string name;
  std::optional<double> steps_per_second, cpu_cores;
  std::optional<core::Bytes> host_memory, gpu_memory;
  std::optional<core::Ratio> busy, sm;
};

// What a live line shows; made once an interval.
struct WatchLine {
  enum class State { kWarming, kSteady, kStopping };
  State state = State::kWarming;
  core::Seconds elapsed;
  core::Seconds steady;                         // length of the window so far
  std::optional<core::Seconds> goal = {};       // how long it will be, where that is known
  std::optional<core::Ratio> uncertainty = {};  // of the job that moves most
  std::vector<WatchJobLine> jobs = {};
};

// Called once the jobs are known; the source lives as long as the collectors.
using CollectorFactory =
    std::function<std::vector<std::unique_ptr<collect::Collector>>(collect::JobSource& jobs)>;

struct WatchOptions {
  core::Seconds interval{1};
  std::optional<core::Seconds> warmup = {};  // absent: found by itself (core/numbers/steady.h)
  Until until = Until::kSettled;
  // kFor. Without `warmup` six readings at least, without steps 15 s: a steady state is not seen in
  // fewer.
  core::Seconds window{30};
  core::Seconds longest{120};  // kSettled: a steady window of this length is enough as it is
  // Since the start; then what there is is taken. Of kFor: of the warm-up alone. Not of kEnd.
  core::Seconds at_most{600};
  core::Seconds grace{10};         // between SIGTERM and SIGKILL
  std::string source = "profile";  // ProfileRecord::source
  Facts environment = {};          // of the machine; what is the job's own is added
  // Facts of a job's own (its framework) by its processes; asked while it runs.
  std::function<Facts(const std::vector<int>& pids)> job_facts = {};
  CollectorFactory collectors = {};
  std::function<void(const WatchLine&)> line = {};
  std::function<void(const core::Batch&)> sample = {};  // every batch as read, for the store
  std::stop_token stop = {};               // stopped: jobs are stopped, what there is is returned
  WatchWorld* world = nullptr;             // null: this machine (measure/watch_world.h)
  std::optional<core::Bytes> memory = {};  // of the host, for all jobs together
};

struct Watched {
  std::vector<core::ProfileRecord> records;  // one for each spec, in their order
  bool interrupted = false;                  // by a signal to us, or by `stop`
  std::set<std::string> memory_killed = {};  // whom the kernel ended for their host memory
};

// An error: nothing has been measured (a command could not be started: the others are stopped).
// A job that ended by itself has an exit_code; one that was stopped because enough was seen has
// none. A window that is no steady state (a job ended too early) is of the whole time that all ran:
// settled is false, and a note says so. Figures are empty when nothing could be read at all.
// Each record has the job's own figures and those of the machine in the window.
core::Result<Watched> Watch(std::span<const RunSpec> specs, const WatchOptions& options);

// WatchOptions with this machine's collectors and environment filled in.
WatchOptions WatchHere();

// One record of several runs of the same thing: means of their figures, `repeats` of them, and as
// uncertainty that of the mean over the runs. REQUIRES: at least one.
core::ProfileRecord MergeRepeats(std::span<const core::ProfileRecord> records);

}  // namespace sharewell::measure
