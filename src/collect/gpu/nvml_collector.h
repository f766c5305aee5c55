// What NVML says of every GPU of this machine, and of the processes on them.
#pragma once

#include <memory>
#include <string>

#include "collect/collector.h"
#include "collect/jobs.h"

namespace sharewell::collect {

// `library`: the driver's library; empty: libnvidia-ml.so.1, where the loader finds it. It is
// opened at the first Probe or Collect and looked for again while it is not there. `jobs` may be
// null: every process is then a job of its own; else it must outlive the collector.
std::unique_ptr<Collector> NewNvmlCollector(const std::string& library, JobSource* jobs);

}  // namespace sharewell::collect
