#include "engine/simulated/simulated_engine.h"

#include <algorithm>

namespace sharewell::engine {

void SimulatedEngine::Report(Observation& out) {
  out.now = world_.now();
  out.submitted.clear();
  for (core::JobId id : events_.submitted) out.submitted.push_back(world_.jobs()[id.index()]);
  out.finished = events_.finished;
  out.failed = events_.failed;
  out.out_of_memory = events_.out_of_memory;
  out.requeued.clear();
  out.profiled = events_.profiled;
  out.told = events_.told;
  out.progress.clear();
  out.paused.clear();
  for (const auto& p : events_.progress) {
    out.progress.push_back({p.job, p.attained, p.rate, p.startup});
  }
}

bool SimulatedEngine::Observe(std::optional<core::Seconds> wake, Observation& out) {
  const std::optional<core::Seconds> event = world_.NextEvent();
  std::optional<core::Seconds> next = event;
  if (next) idle_wakes_ = 0;
  if (!next && (!wake || ++idle_wakes_ > kMostIdleWakes)) return false;
  if (wake) {
    const core::Seconds at = std::max(*wake, world_.now());
    next = next ? std::min(*next, at) : at;
  }
  events_.Clear();
  world_.AdvanceTo(*next, events_);
  Report(out);
  out.news = event && *event <= *next;
  return true;
}

void SimulatedEngine::Apply(const core::Plan& plan, Observation& out) {
  events_.Clear();
  for (const auto& stop : plan.stops) {
    stop.pause ? world_.Pause(stop.job) : world_.Stop(stop.job, core::IsEviction(stop));
  }
  // All movers leave before the first arrives, so that two may change places.
  for (const auto& move : plan.moves) world_.Stop(move.job);
  for (const auto& move : plan.moves) world_.Arrive(move.job, move.to, move.free);
  for (const auto& resize : plan.resizes) world_.Resize(resize.job, resize.cores);
  for (const auto& throttle : plan.throttles) world_.Throttle(throttle.job, throttle.share);
  for (const auto& start : plan.starts) world_.Start(start.job, start.to, start.profile);
  for (core::JobId id : plan.infeasible) world_.Drop(id);
  world_.Settle(events_);
  Report(out);
}

}  // namespace sharewell::engine
