// A control group of a job's own, below ours, that bounds its CPUs and memory: cgroup v2 (as root
// or where it was delegated to us) or v1. Where none can be made the job still runs, with its CPU
// set alone (sched_setaffinity), and `missing` says what is not bounded and why.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::platform {

struct CgroupLimits {
  std::optional<std::vector<int>> cpus = {};  // cpuset
  std::optional<double> cpu_time = {};        // CPU seconds a second (cpu.max)
  std::optional<core::Bytes> memory = {};     // with swap, where the kernel counts it
};

class Cgroup {
 public:
  // A new one below ours, named after `name`, bounded by what of `limits` can be. `root`: of the
  // file system, for tests.
  static std::unique_ptr<Cgroup> Make(const std::string& name, const CgroupLimits& limits,
                                      const std::string& root = "/");
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();  // removes it; nothing may run in it any more

  // Files that a process enters it by writing "0" to; empty: none could be made.
  const std::vector<std::string>& procs() const { return procs_; }
  // Its folder in v2; empty: there is none. (In v1 no one folder has all that is to be read.)
  const std::string& folder() const { return folder_; }
  // What was asked for and is not bounded, each with its reason and what would mend it.
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  Cgroup() = default;

  std::vector<std::string> folders_, procs_, missing_;
  std::string folder_;
};

}  // namespace sharewell::platform
