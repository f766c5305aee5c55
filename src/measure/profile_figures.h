// From what was read to what a job needs, and what bounds it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/profile_record.h"
#include "measure/profile_series.h"

namespace sharewell::measure {

struct JobView {
  const ProfileSeries* series = nullptr;
  std::string job;
  std::vector<std::string> gpus = {};  // its own, by instance; empty: none, or not known
  // It had its GPUs to itself: then their figures are its own. Otherwise only what was read for its
  // processes is.
  bool alone = true;
  std::size_t cpus = 0;  // that it may use; 0: not known
  // Its memory, shared pages counted once, over its resident memory, in which they count once for
  // each process.
  core::Ratio unshared = 1;
  Span window;
  Span life;  // for peaks; begins before the job did, so that what was there before is known
};

// The GPUs that the job was seen on; where it was not (a driver that names no processes), the only
// one there is. Empty: none.
std::vector<std::string> GpusOf(const ProfileSeries& series, const std::string& job);

// All but workload, gpu, steps_per_second and cpu_curve. Per GPU where it has several: the mean of
// them, of memory the most.
core::Profile MeasuredProfile(const JobView& view);

// "gpu: busy 98 % of the time, SM 91 %, DRAM 40 %": what bounds it, and by what that is known.
// "unknown: ..." with the same evidence where nothing stands out; empty where nothing was read.
std::string BoundBy(const JobView& view, const core::Profile& profile);

// What was read in the beginning and then no more: a GPU that fell off the bus, a counter that
// stopped. One note each metric family, with when.
std::vector<std::string> Vanished(const JobView& view);

}  // namespace sharewell::measure
