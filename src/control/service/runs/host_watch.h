// HostWatch: CPU-only jobs beside training jobs. Where a training job starves, they are believed to
// move as much memory as explains it, and the policy slows them. Where a counter tells their
// traffic, the policy knows it before anybody starves. The loop's thread.
#pragma once

#include <vector>

#include "control/loop/estimator.h"
#include "control/loop/host_pressure.h"
#include "control/loop/loop.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/service_state.h"
#include "core/renumbering.h"
#include "core/units.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

class HostWatch {
 public:
  // All must outlive it.
  struct Parts {
    const ServiceState& state;
    PaceWatch& paces;
    const Estimator& beliefs;
    Loop& loop;
    engine::LiveEngine& engine;
  };
  explicit HostWatch(const Parts& parts) : parts_(parts) {}

  void Look();  // once a second, however often it is called
  void Renumber(const core::Renumbering& ids) { pressure_.Renumber(ids); }

 private:
  void HoldTo(const HostShare& told, const std::vector<core::JobId>& cpu_jobs);

  const Parts parts_;
  HostPressure pressure_;
  core::Seconds looked_;
};

}  // namespace sharewell::control
