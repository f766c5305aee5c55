#include "policy/choosing_anew.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "policy/line.h"
#include "policy/paused_place.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using core::JobState;
using core::JobView;
using core::Plan;
using core::Reason;

namespace reason = core::reason;

using ChosenJobs = std::vector<std::pair<JobId, Chosen>>;
using PassedOver = std::unordered_map<std::uint32_t, Reason>;

// The training jobs that wait or run, in turn. What keeps a GPU from being used stays on it, and
// so does who cannot be stopped.
std::vector<Line::Entry> LiveInTurn(const ChooseAnewFrom& from, Ledger& anew) {
  const core::Snapshot& snapshot = from.snapshot;
  std::vector<Line::Entry> live;
  const auto add = [&](const JobView& view) {
    if (!view.cpu_only()) live.push_back(Line::EntryOf(snapshot, from.order, view));
  };
  for (JobId id : snapshot.running()) {
    const JobView& view = snapshot.job(id);
    if (!view.job.placeholder && view.may_stop()) {
      add(view);
    } else if (!view.cpu_only() || view.job.keeps_place) {
      anew.Occupy(snapshot, id, view.allocation);
    }
  }
  for (JobId id : snapshot.waiting()) {
    if (snapshot.job(id).paused) anew.HoldPaused(snapshot, snapshot.job(id), +1);
    if (!from.dropped(id)) add(snapshot.job(id));
  }
  std::sort(live.begin(), live.end());
  // A pause costs seconds and host memory: who began just now has its GPU for a while, whatever the
  // order says, or two equals would change places at every decision.
  std::stable_partition(live.begin(), live.end(), [&](const Line::Entry& entry) {
    return TooSoonToPause(snapshot, snapshot.job(entry.id), from.options);
  });
  return live;
}

// Where jobs are paused, who runs keeps its GPUs as long as they are free: a paused one can go on
// nowhere but where it was.
Choice PlaceAnew(const ChooseAnewFrom& from, const Ledger& anew, const JobView& view) {
  if (from.options.pauses_runs && view.state == JobState::kRunning &&
      MayPause(from.snapshot, view)) {
    Choice here = PausedPlace(from.snapshot, anew, view);
    if (std::holds_alternative<Chosen>(here)) return here;
  }
  return from.place(anew, view);
}

// The chosen, with those of them that already run left where they are, so that nobody moves; and
// in any case who has to stop. False: some find no place so.
bool StartBeside(const ChooseAnewFrom& from, const ChosenJobs& chosen,
                 const PassedOver& passed_over, bool pauses, Ledger& ledger, Plan& plan) {
  const core::Snapshot& snapshot = from.snapshot;
  Ledger kept = from.everybody();
  // The first of those who are to be started.
  const auto starts_first = std::find_if(chosen.begin(), chosen.end(), [&](const auto& one) {
    return snapshot.job(one.first).state != JobState::kRunning;
  });
  const JobId pusher = starts_first == chosen.end() ? JobId() : starts_first->first;
  plan.stops.clear();
  for (JobId id : snapshot.running()) {
    if (!passed_over.contains(id.value)) continue;
    const JobView& view = snapshot.job(id);
    kept.Vacate(snapshot, id, view.allocation);
    const bool pause = pauses && MayPause(snapshot, view) && kept.PausedFits(snapshot, view);
    if (pause) kept.HoldPaused(snapshot, view, +1);
    plan.stops.push_back({id, reason::Preempted{pusher}, pause});
  }
  std::sort(plan.stops.begin(), plan.stops.end(),
            [](const auto& a, const auto& b) { return a.job < b.job; });
  std::vector<core::Start> starts;
  for (const auto& [id, choice] : chosen) {
    const JobView& view = snapshot.job(id);
    if (view.state == JobState::kRunning) continue;
    Choice again = from.place(kept, view);
    if (!std::holds_alternative<Chosen>(again)) return false;
    auto& place = std::get<Chosen>(again);
    kept.Occupy(snapshot, id, place.to);
    starts.push_back({id, std::move(place.to), place.profile, reason::Order{}});
  }
  plan.starts = std::move(starts);
  ledger = std::move(kept);
  return true;
}

// Everybody goes where the empty cluster would have them.
void MoveAll(const core::Snapshot& snapshot, ChosenJobs& chosen, Plan& plan) {
  for (auto& [id, choice] : chosen) {
    const JobView& view = snapshot.job(id);
    const Reason its_turn = reason::Order{};
    if (view.state != JobState::kRunning) {
      plan.starts.push_back({id, std::move(choice.to), choice.profile, its_turn});
    } else if (view.allocation.gpus != choice.to.gpus) {
      plan.moves.push_back({id, std::move(choice.to), false, its_turn});
    } else if (view.allocation.cores != choice.to.cores && !view.job.cores_fixed) {
      plan.resizes.push_back({id, choice.to.cores, its_turn});
    }
  }
}

}  // namespace

void ChooseAnew(const ChooseAnewFrom& from, Ledger& ledger, Plan& plan) {
  const core::Snapshot& snapshot = from.snapshot;
  Ledger anew = from.everybody();
  anew.Empty(snapshot, false);
  const std::vector<Line::Entry> live = LiveInTurn(from, anew);

  ChosenJobs chosen;
  PassedOver passed_over;
  for (const auto& entry : live) {
    const JobView& view = snapshot.job(entry.id);
    Choice choice = PlaceAnew(from, anew, view);
    if (const auto* reason = std::get_if<Reason>(&choice)) {
      passed_over.emplace(entry.id.value, from.no_memory(anew, view).value_or(*reason));
      continue;
    }
    chosen.emplace_back(entry.id, std::get<Chosen>(std::move(choice)));
    anew.Occupy(snapshot, entry.id, chosen.back().second.to);
  }

  // With those that are paused as long as host memory has room for them and the starts; else they
  // are stopped.
  const bool pauses = from.options.pauses_runs;
  bool placed = StartBeside(from, chosen, passed_over, pauses, ledger, plan);
  if (!placed && pauses) placed = StartBeside(from, chosen, passed_over, false, ledger, plan);
  if (!placed) {
    MoveAll(snapshot, chosen, plan);
    ledger = std::move(anew);
  }
  for (const auto& entry : live) {
    const auto it = passed_over.find(entry.id.value);
    if (it != passed_over.end()) from.waits(entry.id, it->second);
  }
}

}  // namespace sharewell::policy
