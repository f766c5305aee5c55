// NsightRun: a command run once more under Nsight Compute, which counts what each of some kernels
// does. The GPU's clocks and caches are left as the job finds them. Until it is warm the job runs
// at its own speed: see platform/process/profiler_start.cc.
#pragma once

#include <string>
#include <vector>

#include "core/job/profile_record.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::measure {

struct NsightRun {
  std::vector<std::string> command;
  std::string program;           // ncu, as platform::FindProgram found it
  int kernels = 200;             // that are counted; then the job is ended
  core::Seconds warm{10};        // of using the GPU that come before: algorithms are tried in them
  core::Seconds limit{10 * 60};  // beyond these seconds it is ended all the same
};

// DCGM's service leaves the counters of GPUs before Hopper alone meanwhile.
// Kernels, figures and notes, as `sharewell import ncu` has them. A job that ends before it is
// warm, or that the library does not reach (in a container, say), is run again and counted from its
// first kernel on, and a note says so. What the job writes is not shown. An error says what Nsight
// Compute said and what to do.
core::Result<core::ProfileRecord> MeasureKernels(const NsightRun& run);

}  // namespace sharewell::measure
