// ClusterControl: what the control of a cluster's manager (SlurmControl, KubeControl) can be told,
// as Runner has it, and what both have in common. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "engine/run_events.h"
#include "engine/run_request.h"

namespace sharewell::engine {

// A GPU model as our tables have it.
struct KnownGpuModel {
  std::string name;
  core::Bytes memory{};

  friend bool operator==(const KnownGpuModel&, const KnownGpuModel&) = default;
};
// By any of its names, in any case. Absent: it is no GPU model.
using GpuModelNamed = std::function<std::optional<KnownGpuModel>(std::string_view name)>;

class ClusterControl {
 public:
  virtual ~ClusterControl() = default;
  virtual void Start(const RunRequest& request) = 0;
  virtual void Stop(RunId id) = 0;
  virtual void Cancel(RunId id) = 0;
  virtual void CancelWaiting(std::int64_t job) = 0;
  virtual void Expect(std::int64_t job) = 0;
  virtual void List(core::Seconds as_of) = 0;  // RunsListed follows
  virtual void Forget(RunId id) = 0;
};

// The end of a run that was told to end.
inline RunEnd StoppedEnd(std::string message) {
  RunEnd end;
  end.signal = 15;
  end.exit_code = 128 + end.signal;
  end.stopped = true;
  end.message = std::move(message);
  return end;
}

}  // namespace sharewell::engine
