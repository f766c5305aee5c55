// StrangerTrack: processes on GPUs that are no jobs, as they come and go, from what the GPUs'
// collector reads. Plain bookkeeping; asks the system only for a user's name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/service/view/gpu_table.h"
#include "core/metric.h"
#include "core/units.h"

namespace sharewell::server {

// Whose process it is: its user's name, or number; empty: it is gone.
std::string UserOfProcess(int pid);

class StrangerTrack {
 public:
  explicit StrangerTrack(std::function<std::string(int)> user_of = UserOfProcess)
      : user_of_(std::move(user_of)) {}

  // What one look at all GPUs read, in which every process that is no job is called "pid NUMBER".
  // `with_jobs`: the instances on which jobs run. True: what On gives has changed.
  bool Handle(const core::Batch& batch, const std::set<std::string>& with_jobs);

  // By pid; see JobWatch::StrangersOn.
  std::vector<control::Stranger> On(const std::string& instance) const;
  bool empty() const { return seen_.empty(); }  // told or not yet

 private:
  struct Seen {
    core::UnixMillis since = 0;
    int looks = 0;
    bool now = false;  // in the look under way
    bool told = false;
    std::string user;
    core::Bytes memory;
    std::optional<core::Ratio>
        active;  // of the GPU's time, over the last seconds; absent: not known
    bool busy = false;
  };
  static bool Follow(Seen& seen, std::optional<core::Ratio> active);

  std::function<std::string(int)> user_of_;
  std::map<std::pair<std::string, int>, Seen> seen_;  // by instance and pid
};

}  // namespace sharewell::server
