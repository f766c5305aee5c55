// PerfCounters: the door to perf_event_open, so that tests can feed counts of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collect/host/perf/perf_events.h"

namespace sharewell::collect {

// What is counted: a CPU; a CPU as far as a control group runs on it; or a thread wherever it runs,
// and all that it starts from now on.
struct PerfTarget {
  int thread = -1;
  int cpu = -1;
  std::string cgroup = {};  // its folder, the root folder included
};

struct PerfCount {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0, running = 0;  // nanoseconds; fewer running: the kernel took turns
};

struct PerfOpened {
  int id = -1;               // for Read and Close; -1: nothing could be opened
  std::vector<bool> events;  // which of the codes could
  bool user_only = false;    // the kernel's own work is not counted
  int error = 0;             // errno of the last that could not; 0: all could
};

class PerfCounters {
 public:
  virtual ~PerfCounters() = default;
  // Counts all codes at the same time where the processor can.
  virtual PerfOpened Open(std::span<const PerfCode> codes, const PerfTarget& target) = 0;
  // One count for each code that was opened, in their order; others are left as they are. False:
  // they cannot be read any more (the CPU was taken out).
  virtual bool Read(int id, std::span<PerfCount> counts) = 0;
  virtual void Close(int id) = 0;
};

std::unique_ptr<PerfCounters> NewLinuxPerfCounters();
// For a captured tree: every Open fails with ENXIO.
std::unique_ptr<PerfCounters> NewNoPerfCounters();

}  // namespace sharewell::collect
