// What the host's memory can move at most: measured once on each machine by copies past the caches
// (stress/pressure.h), and kept in the server's state folder. What was not measured is not known,
// and not contended for.
#pragma once

#include <optional>
#include <string>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::measure {

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

// The short probe of how fast the host does what a training loop waits for
// (tools/lab/host_probe.py, run with the user's Python): each a second, absent where there is no
// PyTorch or no GPU to ask.
struct HostProbe {
  std::optional<double> python_loops, launches, launch_waits, pipe_trips, copied_bytes,
      loader_items;
  core::UnixMillis measured = 0;

  friend bool operator==(const HostProbe&, const HostProbe&) = default;
};

// kAbsent where there is no Python 3. Takes as long as Python needs to load PyTorch, and a second.
core::Result<HostProbe> RunHostProbe();

// STATE/host-probe, as with KeptHostSpeed.
std::optional<HostProbe> KeptHostProbe(const std::string& state, const std::string& machine);
core::Result<void> KeepHostProbe(const std::string& state, const std::string& machine,
                                 const HostProbe& probe);

// The host that the shipped predictor was learnt on: medians of the 125 probes beside the rows of
// data/h200/profiles-3.csv, whose host took 0.903 of what the first sitting's did: the same host,
// as far as a probe can tell.
HostProbe ReferenceProbe();

// How long this host takes over one thing, against the reference host (predict::Query::host_time):
// the geometric mean over launches, pipe trips and loader items. What lies within a factor of 1.3,
// as nine in ten probes of the reference host itself do, counts as the same host: 1. Absent
// without a launch rate: a machine without a GPU is nobody's host.
std::optional<double> HostTime(const HostProbe& probe);

// "108887 kernels launched, 4614 images loaded, 75297 processes woken a second (measured ...)".
std::string InWords(const HostProbe& probe);

// "memory moves 24.1 GB/s, 11.3 GB/s by one core (measured 2026-11-16)".
std::string InWords(const HostSpeed& speed);

}  // namespace sharewell::measure
