// The collectors there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collect/host_collectors.h"
#include "collect/jobs.h"

namespace sharewell::collect {

struct CollectorOptions {
  std::string root = "/";     // "/" or a captured tree
  JobSource* jobs = nullptr;  // outlives the collectors; null: no figures of jobs
  bool gpm = true;            // false: the GPUs' counters are left to other programs, DCGM's too
  StepsFolders steps = {};
  ToldSink told = {};        // what watchers inside of jobs tell; empty: nobody hears it
  std::string nvml_library;  // empty: the system's libnvidia-ml.so.1
  std::string dcgm_library;  // empty: the system's libdcgm.so
};

// Every collector, working or not, in the order they are shown in.
std::vector<std::unique_ptr<Collector>> AllCollectors(const CollectorOptions& options);

}  // namespace sharewell::collect
