// The collector of the processor's counters, with its door to them to be set by tests.
#pragma once

#include <memory>
#include <string>

#include "collect/collector.h"
#include "collect/host/perf/perf_counters.h"
#include "collect/jobs.h"

namespace sharewell::collect {

std::unique_ptr<Collector> NewPerfCollector(const std::string& root, JobSource* jobs,
                                            std::unique_ptr<PerfCounters> counters);

// What stands in the way, when all CPUs cannot be counted.
struct PerfRefusal {
  int error = 0;      // of perf_event_open for a CPU
  int own_error = 0;  // and for a process of one's own; 0: that can be counted
  int paranoid = 2;   // kernel.perf_event_paranoid
  bool has_pmu = true;
  bool in_container = false;
  bool is_virtual = false;
};
Health PerfHealth(const PerfRefusal& refusal);

}  // namespace sharewell::collect
