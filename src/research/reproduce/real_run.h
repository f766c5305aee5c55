// A record of a mix that was run through the server (docs/formats/run.md), read back. Private to
// research/reproduce.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"

namespace sharewell::research::reproduce {

// Times are seconds from the first submission.
struct RealJob {
  core::Workload workload;
  double submit = 0, start = 0, end = 0;
  std::optional<double> steady, rate, steps, alone_rate, cores;  // rate: of its steps once warm
  bool alone_here = false;  // alone_rate was seen on this machine, and is not of a profile
  int attempts = 1;
  bool finished = false;
  core::Profile told;  // as the server was told; without figures: nothing
  // Those figures were measured on the workload itself; false: predicted. Empty: nothing was told.
  std::optional<bool> told_measured;
  std::optional<double> told_duration;
};

struct RealRun {
  std::string file, policy;
  std::string mix;      // hash of its file
  std::string cluster;  // the machine, as the text of a cluster file
  bool stub = false, warm = false, complete = false;
  std::optional<double> busy;
  std::vector<RealJob> jobs;

  double Makespan() const;
  double Jct() const;  // mean
};

// A file that is missing or no such record, or whose jobs did not all end, is a usage error.
core::Result<RealRun> ReadRealRun(const std::string& path);

}  // namespace sharewell::research::reproduce
