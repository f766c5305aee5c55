#include "policy/reservations.h"

#include <algorithm>
#include <utility>

#include "policy/foresight.h"
#include "policy/order/order.h"

namespace sharewell::policy {
namespace {

using core::JobView;
using core::NodeId;

// More free nodes sooner for jobs of many GPUs, and leave more GPUs idle until then.
constexpr std::size_t kMostKept = 4;
constexpr double kPartOfItsLength = 0.5;
constexpr double kMostPatience = 24 * 3600;  // seconds
// Durations are believed with an error of 0.3 (of the logarithm): one in twenty lasts longer.
constexpr double kSurely = 1.6;

}  // namespace

bool Reservations::WaitsForLong(const JobView& view) const {
  if (view.job.gpus < 2) {
    // It takes the first GPU that is free in its turn, unless it is short of something else.
    return kept_.empty() && (snapshot_.youngest_started() - view.job.submit).value >= kMostPatience;
  }
  const double waited = (snapshot_.now() - view.job.submit).value;
  return waited >= std::min(kPartOfItsLength * ExpectedRemaining(snapshot_, view), kMostPatience);
}

void Reservations::Keep(const JobView& view) {
  if (kept_.size() == kMostKept || view.paused || !WaitsForLong(view)) return;
  std::optional<SoonFree> soonest;
  for (std::size_t m = 0; m < snapshot_.cluster().models().size(); ++m) {
    auto found = SoonestFree(snapshot_, ledger_, view, core::GpuModelId(m));
    if (found && (!soonest || found->in < soonest->in)) soonest = std::move(found);
  }
  if (!soonest) return;
  for (NodeId node : soonest->nodes) ledger_.Close(snapshot_, node);
  kept_.push_back({view.job.id, soonest->in.value, std::move(soonest->nodes)});
}

double Reservations::LatestEnd(const JobView& view) {
  if (view.estimate.duration) return kSurely * ExpectedRemaining(snapshot_, view);
  if (!unknown_) {
    unknown_ = 600;
    for (core::JobId id : snapshot_.running()) {
      const JobView& other = snapshot_.job(id);
      if (other.estimate.duration || other.cpu_only()) continue;
      unknown_ = std::max(*unknown_, snapshot_.run_time(other).value);
    }
  }
  return std::max(*unknown_, ExpectedRemaining(snapshot_, view));
}

bool Reservations::WithKept(const JobView& view, const std::function<bool()>& start) {
  if (kept_.empty()) return false;
  const double end = LatestEnd(view);
  std::vector<NodeId> opened;
  int idle = 0;  // at most: gangs that span nodes add them up
  for (const Kept& kept : kept_) {
    if (end > kept.until) continue;
    for (NodeId node : kept.nodes) idle += ledger_.idle_gpus(node);
    opened.insert(opened.end(), kept.nodes.begin(), kept.nodes.end());
  }
  if (opened.empty() || (view.job.gpus > 1 && idle < view.job.gpus)) return false;
  for (NodeId node : opened) ledger_.Close(snapshot_, node, false);
  const bool started = start();
  for (NodeId node : opened) ledger_.Close(snapshot_, node);
  return started;
}

}  // namespace sharewell::policy
