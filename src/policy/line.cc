#include "policy/line.h"

#include <algorithm>

#include "policy/ledger.h"

namespace sharewell::policy {

using core::JobId;
using core::JobView;
using core::Snapshot;

namespace {
constexpr int kBusySteps = 16;

// In steps of a twentieth; beyond 3 they are one.
int BoundStep(const JobView& view) {
  return view.job.max_slowdown ? static_cast<int>(std::min(*view.job.max_slowdown, 3.0) * 20) : 0;
}
}  // namespace

Line::Entry Line::EntryOf(const Snapshot& snapshot, const Order& order, const JobView& view) {
  return {-view.job.priority, order.Key(snapshot, view), view.job.submit.value, view.job.id};
}

Line::Class Line::ClassOf(const JobView& view) const {
  const bool shares = MayShare(view);
  const double busy = view.estimate.on.empty() ? 0 : view.estimate.on.front().demand.busy;
  return {-view.job.priority,
          view.job.gpus,
          shares,
          shares ? static_cast<int>(busy * kBusySteps) : 0,
          shares ? BoundStep(view) : 0,
          view.job.allowed_models,
          order_->ByUser() ? view.job.user.value : 0};
}

void Line::Rebuild(const Snapshot& snapshot) {
  classes_.clear();
  oldest_.clear();
  where_.clear();
  for (JobId id : snapshot.waiting()) Update(snapshot, id);
}

void Line::Update(const Snapshot& snapshot, JobId id) {
  if (id.index() >= where_.size()) where_.resize(snapshot.job_count());
  const JobView& view = snapshot.job(id);
  auto& where = where_[id.index()];
  if (where) {
    auto it = classes_.find(where->first);
    it->second.erase(where->second);
    if (it->second.empty()) classes_.erase(it);
    oldest_.erase({view.job.submit.value, id});
    where.reset();
  }
  if (view.state != core::JobState::kWaiting) return;
  where.emplace(ClassOf(view), EntryOf(snapshot, *order_, view));
  classes_[where->first].insert(where->second);
  if (!view.cpu_only()) oldest_.insert({view.job.submit.value, id});
}

std::optional<JobId> Line::Oldest() const {
  if (oldest_.empty()) return std::nullopt;
  return oldest_.begin()->second;
}

}  // namespace sharewell::policy
