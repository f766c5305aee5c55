// What the host's memory can move at most: measured once on each machine by copies past the caches
// (stress/pressure.h), and kept in the server's state folder. What was not measured is not known,
// and not contended for.
#pragma once

#include <optional>
#include <string>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::study {

struct HostSpeed {
  core::BytesPerSecond memory_bandwidth;         // bytes read plus bytes written, all CPUs
  std::optional<core::BytesPerSecond> one_core;  // what one thread alone reached
  std::optional<core::Ratio> spread;  // of repeated measurements: (most - least) / median
  core::UnixMillis measured = 0;

  friend bool operator==(const HostSpeed&, const HostSpeed&) = default;
};

// Which machine a figure is of: its name, processor and number of CPUs. `root`: of its files.
std::string MachineKey(const std::string& root = "/");

// A few seconds on all CPUs that this process may use; the calling thread is niced and stays so.
core::Result<HostSpeed> MeasureHostSpeed();

// STATE/host-speed. Absent: nothing was measured on that machine, or it cannot be read.
std::optional<HostSpeed> KeptHostSpeed(const std::string& state, const std::string& machine);
core::Result<void> KeepHostSpeed(const std::string& state, const std::string& machine,
                                 const HostSpeed& speed);

// "memory moves 24.1 GB/s, 11.3 GB/s by one core (measured 2026-11-16)".
std::string InWords(const HostSpeed& speed);

}  // namespace sharewell::study
