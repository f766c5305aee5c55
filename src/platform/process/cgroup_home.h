// CgroupHome: where control groups for jobs can be made: below our own group or beside it, cgroup
// v2 (as root or where it was delegated to us) or v1. Found once, by trying.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "platform/process/cgroup_limits.h"

namespace sharewell::platform {

class CgroupHome {
 public:
  // `controllers`: of cpuset, cpu, memory and pids, those that are needed. `root`: of the file
  // system, for tests.
  static CgroupHome Find(const std::vector<std::string>& controllers = {"cpuset", "cpu", "memory",
                                                                        "pids"},
                         const std::string& root = "/");

  // A group of just that name, bounded by what of `limits` can be. One that is there is taken over.
  std::unique_ptr<Cgroup> Make(const std::string& name, const CgroupLimits& limits) const;
  // One that was made so, perhaps by another process; it may have nothing in it.
  std::unique_ptr<Cgroup> Again(const std::string& name) const;
  // Empty groups that Find and Cgroup::Make have left behind when their process was killed.
  void RemoveStale() const;
  // Groups that are there and whose names begin so.
  std::vector<std::string> Names(const std::string& prefix) const;

 private:
  friend class Cgroup;
  struct Place {
    std::string parent;  // folder to make groups in
    std::string why;     // where there is none
  };

  bool v2_ = false;
  std::map<std::string, Place> places_;  // by controller
};

}  // namespace sharewell::platform
