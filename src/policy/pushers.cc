#include "policy/pushers.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "policy/line.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using core::JobView;
using core::Snapshot;

namespace reason = core::reason;

constexpr int kMostPushers = 4;          // in a decision: each looks at all who run
constexpr int kMostRefusedPushers = 12;  // besides, that find no place; such as these not again

// Who would have gone for it, had it been possible to stop all of them: that is why it waits.
JobId StaysInTheWay(const Snapshot& snapshot, const MadeWay& way) {
  for (const JobId other : way.stops) {
    if (snapshot.job(other).stays) return other;
  }
  return {};
}

// Where this one found no place, the other finds none either. One of more GPUs may find one: those
// that no node is large enough for may span nodes.
bool AsHardToPlace(const JobView& refused, const JobView& other) {
  const core::Job &a = refused.job, &b = other.job;
  return b.gpus == a.gpus && b.priority <= a.priority && other.estimate == refused.estimate &&
         other.must_be_alone() == refused.must_be_alone() && b.cores_fixed == a.cores_fixed &&
         b.gpus_a_node == a.gpus_a_node && b.cores == a.cores && b.host_memory == a.host_memory &&
         b.allowed_models == a.allowed_models && b.allowed_nodes == a.allowed_nodes &&
         b.max_slowdown == a.max_slowdown && b.sm_share == a.sm_share &&
         other.profiled == refused.profiled;
}

}  // namespace

void Pushers::Update(const JobView& view) {
  if (view.state == core::JobState::kWaiting && view.job.preempts && !view.cpu_only()) {
    waiting_.insert(view.job.id);
  } else {
    waiting_.erase(view.job.id);
  }
}

void Pushers::Blame(JobId other, JobId id) {
  if (!other.valid()) return;
  for (auto& [waits, why] : refused_) {
    if (waits == id) why = reason::OthersStay{other};
  }
}

void Pushers::PushOut(const Snapshot& snapshot, const Order& order, const Place& place,
                      const std::function<bool(JobId)>& dropped, Ledger& ledger, core::Plan& plan) {
  if (waiting_.empty()) return;
  int least = std::numeric_limits<int>::max();
  std::vector<Line::Entry> in_turn;
  for (JobId id : snapshot.running()) least = std::min(least, snapshot.job(id).job.priority);
  for (JobId id : waiting_) {
    const JobView& view = snapshot.job(id);
    if (view.job.priority <= least || view.paused || ledger.planned(id) || dropped(id)) continue;
    in_turn.push_back(Line::EntryOf(snapshot, order, view));
  }
  std::sort(in_turn.begin(), in_turn.end());
  std::vector<std::pair<const JobView*, JobId>> refused;  // and who stays in its way
  int pushed = 0;
  for (const Line::Entry& entry : in_turn) {
    if (pushed == kMostPushers || refused.size() == kMostRefusedPushers) break;
    const JobView& view = snapshot.job(entry.id);
    const auto like = std::find_if(refused.begin(), refused.end(), [&](const auto& one) {
      return AsHardToPlace(*one.first, view);
    });
    if (like != refused.end()) {
      Blame(like->second, entry.id);
      continue;
    }
    const auto on = [&](const Ledger& tried) { return place(tried, view); };
    auto way = MakeWay(snapshot, ledger, view, on);
    if (!way) {
      const auto later =
          snapshot.staying() == 0 ? std::nullopt : MakeWay(snapshot, ledger, view, on, true);
      refused.emplace_back(&view, later ? StaysInTheWay(snapshot, *later) : JobId());
      Blame(refused.back().second, entry.id);
      continue;
    }
    ++pushed;
    for (JobId id : way->stops) plan.stops.push_back({id, reason::Preempted{view.job.id}});
    plan.starts.push_back(
        {view.job.id, std::move(way->place.to), way->place.profile, reason::Order{}});
    ledger = std::move(way->ledger);
  }
}

}  // namespace sharewell::policy
