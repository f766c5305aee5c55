// JobWatch: what is seen of the server's running jobs, by the collectors, once a second on a thread
// of its own; a job's bounded memory of it becomes its profile when it ends. Nothing runs: it looks
// every ten seconds.
//
// All methods from any thread; none waits for a collector.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collect/jobs.h"
#include "control/service/view/gpu_table.h"
#include "core/job/profile.h"
#include "core/metric.h"
#include "core/units.h"

namespace sharewell::server {

// A GPU as the collectors name it.
struct WatchedGpu {
  std::string uuid;
  std::string instance;  // "0", "0:3"; empty: simulated, nothing is read of it
  std::string model;     // "H200"
};

struct JobWatchOptions {
  std::vector<WatchedGpu> gpus;
  // Empty: every collector that works here. The source outlives them.
  std::function<std::vector<std::unique_ptr<collect::Collector>>(collect::JobSource&)> collectors =
      {};
  // What was read, for the store's writer; on the watch's thread, must not wait. May be empty.
  std::function<void(const std::shared_ptr<const core::Batch>&)> sample = {};
  std::function<void(const std::string&)> log = {};  // a collector that fails or comes back
  // StrangersOn has changed; on the watch's thread, must not wait. May be empty.
  std::function<void()> strangers_changed = {};
  core::Seconds interval{1};
  core::Seconds resting{10};  // while no job runs
};

struct GpuNow {
  std::optional<core::Ratio> busy, sm;
  std::optional<core::Bytes> memory_used;
  std::optional<core::Watts> power;
};

// The machine itself, as last read.
struct MachineNow {
  std::optional<core::Ratio> cpu_busy;
  std::optional<core::Bytes> memory, memory_available;
};

class JobWatch {
 public:
  explicit JobWatch(JobWatchOptions options);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // `pid`: the root of its process tree; `cgroup`: its own control group's folder, empty: none;
  // `gpus`: by uuid. Under Reading::job it is core::JobLabel. A number that is there is begun anew.
  void Add(std::int64_t number, int pid, const std::string& cgroup,
           const std::vector<std::string>& gpus);
  void Remove(std::int64_t number);
  void Step(std::int64_t number);  // its count of steps has grown; none that runs: nothing

  // What it needed in its steady part, between its first step and its last where steps are counted,
  // host figures a GPU; what was not seen is absent. Figures of
  // a whole GPU are those of the time it had its GPUs to itself. Of jobs that were removed too,
  // until 100 more were.
  core::Profile Seen(std::int64_t number) const;
  // GPUs that were read before and do not answer any more, by uuid, each with why.
  std::map<std::string, std::string> Lost() const;
  GpuNow Now(const std::string& uuid) const;  // newest; empty where nothing was read
  MachineNow Machine() const;                 // likewise
  // Processes on the GPU that belong to no job that was told, by pid: those that have been there
  // for two looks and three seconds, as a job's own are seen before it is told and after it has
  // ended. One is busy from 5 % of the GPU's time on, until it is under 2 %.
  std::vector<control::Stranger> StrangersOn(const std::string& uuid) const;
  // The most that a running job's processes held on a GPU so far.
  std::optional<core::Bytes> GpuMemoryOf(std::int64_t number) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::server
