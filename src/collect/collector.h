// Collector: reads one source (NVML, /proc/stat, a PMU ...) when it is asked to.
//
// One thread calls it. It never throws, never waits longer than a few milliseconds (a source that
// may is read by a thread of its own, which Collect asks for its latest), and an error of it is
// nobody else's. Everything below a root folder ("/" or a captured tree) is read through it, so
// that a recorded machine can stand in for this one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::collect {

// How a collector stands on this machine: what `sharewell doctor` shows.
struct Health {
  enum class State { kWorks, kPartly, kAbsent };
  State state = State::kAbsent;
  std::string what;  // "1 GPU: NVIDIA H200, driver 580.159.04"; or why it is absent
  std::string mend;  // the command that would mend it; empty: nothing to mend, or nothing can be
};

class Collector {
 public:
  virtual ~Collector() = default;
  virtual std::string_view Name() const = 0;  // "nvml"; one word, unique
  virtual std::string_view Describe() const = 0;
  virtual Health Probe() = 0;  // cheap; may be called at any time
  // Appends what can be read now. A figure that needs two readings (a rate) is left out the first
  // time. Part of the source missing: the rest is appended, and the error says what was not.
  virtual core::Result<void> Collect(std::vector<core::Reading>& out) = 0;
  // It must not be asked more often; 0: no floor. GPM's is 0.1 s (NVIDIA/DCGM#310).
  virtual core::Seconds Floor() const { return core::Seconds(0); }
};

}  // namespace sharewell::collect
