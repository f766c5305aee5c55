#include "policy/reservations.h"

#include <algorithm>
#include <utility>

#include "policy/order/order.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using core::JobView;
using core::NodeId;

// More free nodes sooner for jobs of many GPUs, and leave more GPUs idle until then.
constexpr std::size_t kMostKept = 4;
constexpr double kPartOfItsLength = 0.5;
constexpr double kMostPatience = 24 * 3600;  // seconds
// One in so many GPUs goes to who is late. More, and a queue that is long for days is served in the
// order of submission.
constexpr std::size_t kLatePart = 8;
// Durations are believed with an error of 0.3 (of the logarithm): one in twenty lasts longer.
constexpr double kSurely = 1.6;

}  // namespace

bool Reservations::WaitsForLong(const JobView& view) const {
  if (view.job.gpus < 2) return false;  // it takes the first GPU that is free in its turn
  const double waited = (snapshot_.now() - view.job.submit).value;
  return waited >= std::min(kPartOfItsLength * ExpectedRemaining(snapshot_, view), kMostPatience);
}

JobId Reservations::Late(std::optional<JobId> oldest) const {
  if (!oldest) return {};
  const JobView& view = snapshot_.job(*oldest);
  if ((snapshot_.youngest_started() - view.job.submit).value < kMostPatience) return {};
  auto gpus = static_cast<std::size_t>(view.job.gpus);  // and of those who run and were late
  for (JobId other : snapshot_.running()) {
    const JobView& runs = snapshot_.job(other);
    if ((runs.since - runs.job.submit).value < kMostPatience) continue;
    gpus += static_cast<std::size_t>(runs.job.gpus);
  }
  const std::size_t most = std::max<std::size_t>(1, snapshot_.cluster().gpu_count() / kLatePart);
  return gpus <= most ? *oldest : JobId();
}

JobId Reservations::Keep(const JobView& view, bool late) {
  if (kept_.size() < kMostKept && !view.paused && (late || WaitsForLong(view))) KeepSoonest(view);
  return kept_.empty() ? JobId() : kept_.front().job;
}

Reservations::KeptNodes Reservations::kept() const {
  KeptNodes all;
  for (const Kept& kept : kept_) all.push_back({kept.job, kept.nodes});
  return all;
}

void Reservations::KeepSoonest(const JobView& view) {
  std::optional<SoonFree> soonest;
  for (std::size_t m = 0; m < snapshot_.cluster().models().size(); ++m) {
    auto found = SoonestFree(ends_, view, core::GpuModelId(m));
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
    for (JobId id : snapshot_.running()) {
      const JobView& other = snapshot_.job(id);
      if (other.estimate.duration || other.cpu_only()) continue;
      unknown_ = std::max(*unknown_, snapshot_.run_time(other).value);
    }
  }
  return std::max(*unknown_, ExpectedRemaining(snapshot_, view));
}

bool Reservations::FindNodesFor(const JobView& view) {
  if (kept_.empty()) return false;
  const double end = LatestEnd(view);
  opened_.clear();
  int idle = 0;  // at most: gangs that span nodes add them up
  for (const Kept& kept : kept_) {
    if (end > kept.until) continue;
    for (NodeId node : kept.nodes) {
      if (view.job.gpus > 1) idle += ledger_.idle_gpus(node);
    }
    opened_.insert(opened_.end(), kept.nodes.begin(), kept.nodes.end());
  }
  return !opened_.empty() && (view.job.gpus <= 1 || idle >= view.job.gpus);
}

}  // namespace sharewell::policy
