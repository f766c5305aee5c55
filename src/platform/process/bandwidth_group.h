// A control group of resctrl that bounds how much memory bandwidth a job's processes may use (MBA):
// a share of what each last-level cache's CPUs have. Where the processor or the kernel has none, or
// resctrl is not mounted, there is nothing to make.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::platform {

class BandwidthGroup {
 public:
  // Null: bandwidth cannot be bounded here, or no more groups can be told apart. `root`: of the
  // file system, for tests.
  static std::unique_ptr<BandwidthGroup> Make(const std::string& name,
                                              const std::string& root = "/");
  BandwidthGroup(const BandwidthGroup&) = delete;
  BandwidthGroup& operator=(const BandwidthGroup&) = delete;
  ~BandwidthGroup();  // what is in it is not bounded any more

  // All threads of these; those that they start later are in it too.
  void Add(const std::vector<int>& pids);
  // Rounded up to what the processor can do. False: it could not be set.
  bool SetShare(core::Ratio share);

 private:
  BandwidthGroup(std::string root, std::string folder)
      : root_(std::move(root)), folder_(std::move(folder)) {}

  std::string root_, folder_;
};

}  // namespace sharewell::platform
