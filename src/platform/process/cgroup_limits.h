// A control group of a job's own, below ours, that bounds its CPUs, memory and processes: cgroup v2
// or v1. Where none can be made the job still runs, with its CPU set alone (sched_setaffinity), and
// `missing` says what is not bounded and why.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"

namespace sharewell::platform {

struct CgroupLimits {
  std::optional<std::vector<int>> cpus = {};  // cpuset
  // CPU seconds a second (cpu.max); infinite: not bounded now, so that Change can later.
  std::optional<double> cpu_time = {};
  std::optional<core::Bytes> memory = {};  // with swap, where the kernel counts it
  std::optional<int> processes = {};       // threads are counted as such
};

// Something that was asked for and could not be bounded.
struct Unbounded {
  std::string controller;  // "cpuset", "cpu", "memory", "pids"
  std::string what;        // "CPU time"
  bool never = false;      // no group can be made here at all, as of who is not root
  std::string why;         // in words, with what would fix it
};

class Cgroup {
 public:
  // A new one below ours, named after `name`, bounded by what of `limits` can be. `root`: of the
  // file system, for tests. For many of them: platform/process/cgroup_home.h.
  static std::unique_ptr<Cgroup> Make(const std::string& name, const CgroupLimits& limits,
                                      const std::string& root = "/");
  // One inside `outer`, whose limits bound it too. Where `outer` could not be made, as Make.
  static std::unique_ptr<Cgroup> MakeWithin(const Cgroup& outer, const std::string& name,
                                            const CgroupLimits& limits);
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();  // removes it, unless it is kept; nothing may run in it any more

  // Files that a process enters it by writing "0" to; empty: none could be made.
  std::vector<std::string> procs() const;
  // Its folder in v2; empty: there is none. (In v1 no one folder has all that is to be read.)
  const std::string& folder() const { return folder_; }
  const std::vector<Unbounded>& missing() const { return missing_; }
  bool Bounds(const std::string& controller) const;  // "cpuset", "cpu", "memory", "pids"

  // What is set in `limits` is bounded so from now on; false: some of it cannot be.
  bool Change(const CgroupLimits& limits);
  // Files to end all in it with: "0" to the first lets nothing fork, "1" to the second kills all.
  // Empty: the kernel has none.
  std::string NoForksFile() const;
  std::string KillFile() const;
  // Kills all that is in it, once; what forks meanwhile needs another round. How many there were.
  int KillAll();
  // The kernel killed something in it that wanted more memory than `memory`.
  bool MemoryKilled() const;

  void Keep() { kept_ = true; }  // it stays when the object goes: another process will find it
  // Without waiting; false: something still runs in it. True again and again once it is gone.
  bool TryRemove();

 private:
  friend class CgroupHome;
  struct Part {
    std::string controller;  // empty: all of v2
    std::string folder;
  };
  Cgroup() = default;
  std::string FolderOf(const std::string& controller) const;

  std::vector<Part> parts_;
  std::vector<Unbounded> missing_;
  std::string folder_;
  bool kept_ = false;
};

}  // namespace sharewell::platform
