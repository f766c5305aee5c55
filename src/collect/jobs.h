// JobSource: which jobs run on this machine now, so that figures of processes become figures of
// jobs.
#pragma once

#include <string>
#include <vector>

namespace sharewell::collect {

struct RunningJob {
  std::string name;       // what stands in Reading::job: unique among those running
  std::vector<int> pids;  // its processes, rising
  std::string cgroup;     // its own control group's folder; empty: it has none of its own
};

class JobSource {
 public:
  virtual ~JobSource() = default;
  // By name. Reading it is cheap: sources look at the machine at most once a second.
  virtual const std::vector<RunningJob>& Running() = 0;
};

}  // namespace sharewell::collect
