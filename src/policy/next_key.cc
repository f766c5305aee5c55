#include "policy/next_key.h"

#include <algorithm>

#include "policy/paused_place.h"

namespace sharewell::policy {

using core::JobId;
using core::JobView;
using core::Seconds;

void WakeBy(const std::optional<Seconds>& at, core::Plan& plan) {
  if (at) plan.wake_at = plan.wake_at ? std::min(*plan.wake_at, *at) : *at;
}

std::optional<Seconds> NextKeyAt(const core::Snapshot& snapshot, const Order& order,
                                 const Options& options, const core::Plan& plan) {
  std::optional<Seconds> first;
  const auto at = [&](Seconds then) { first = first ? std::min(*first, then) : then; };
  const auto look = [&](JobId id) {
    if (const auto in = order.NextKeyIn(snapshot, snapshot.job(id))) at(snapshot.now() + *in);
  };
  if (snapshot.waiting().size() + plan.stops.size() <= plan.starts.size()) return first;
  for (JobId id : snapshot.running()) {
    look(id);
    const JobView& view = snapshot.job(id);
    if (TooSoonToPause(snapshot, view, options)) at(view.since + options.pause_after);
  }
  for (const auto& start : plan.starts) look(start.job);
  return first;
}

}  // namespace sharewell::policy
