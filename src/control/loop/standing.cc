#include "control/loop/standing.h"

#include "core/sm_share.h"

namespace sharewell::control {

Standing StandingOf(const core::Snapshot& snapshot, core::JobId id, core::Ratio max_slowdown) {
  const core::JobView& view = snapshot.job(id);
  Standing standing;
  standing.job = id;
  standing.gpus = view.allocation.gpus;
  standing.started = view.since;
  standing.user = view.job.user;
  standing.evicted = view.evictions;
  standing.may_leave = view.may_stop();
  standing.max_slowdown = view.job.max_slowdown.value_or(max_slowdown);
  standing.run_time = snapshot.run_time(view) - view.startup;
  standing.alone_time = snapshot.alone_time(view);
  standing.left = snapshot.remaining(view);
  standing.sm_share = view.allocation.sm_share;
  standing.guest = view.allocation.guest();
  standing.own_share = core::InsistedShare(view).has_value();
  return standing;
}

}  // namespace sharewell::control
