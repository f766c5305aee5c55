#include "policy/composed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "policy/choosing_anew.h"
#include "policy/cpu_jobs.h"
#include "policy/foresight.h"
#include "policy/gpu_set.h"
#include "policy/ledger.h"
#include "policy/line.h"
#include "policy/next_key.h"
#include "policy/paused_place.h"
#include "policy/placement/shortage.h"
#include "policy/pushers.h"
#include "policy/reservations.h"
#include "policy/sizing/adjust_cores.h"
#include "policy/taking_back.h"

namespace sharewell::policy {
namespace {

using core::Change;
using core::GpuId;
using core::JobId;
using core::JobState;
using core::JobView;
using core::NodeId;
using core::Plan;
using core::Reason;
using core::Seconds;
using core::Snapshot;

namespace reason = core::reason;

// Without places kept for it a job of many GPUs may wait for ever behind small ones; with places
// kept for each at once, GPUs would stand idle most of the day. A day is the choice between the
// two.
constexpr Seconds kOvertakenBy{24 * 3600};

struct ComposedMemo : Memo {
  ComposedMemo(const Order& order, const Options& o) : line(order, false, o.project_shares) {}
  bool fresh = true;
  Line line;  // of training jobs
  CpuLine cpu_line;
  Pushers pushers;
  Ledger ledger;
  Ledger nobody;                            // the empty cluster
  std::vector<std::optional<Reason>> told;  // by job: why it waits, as said last
  std::unique_ptr<Scratch> scratch;
  std::uint64_t decision = 0;    // counts them
  GpuSet changed;                // of this decision
  JobId kept_for;                // of this decision
  GpuId kept_gpu;                // of this decision: Context::kept_gpu
  Reservations::Nodes opened;    // of this try
  Reservations::KeptNodes kept;  // of this decision
};

class Composed : public Policy {
 public:
  Composed(std::string name, std::unique_ptr<Order> order, std::unique_ptr<Placement> placement,
           std::unique_ptr<Sizing> sizing, Options options, int misses, bool makes_room)
      : name_(std::move(name)),
        order_(std::move(order)),
        placement_(std::move(placement)),
        sizing_(std::move(sizing)),
        options_(std::move(options)),
        misses_(misses),
        makes_room_(makes_room) {}

  const std::string& Name() const override { return name_; }
  std::unique_ptr<Memo> NewMemo() const override {
    auto memo = std::make_unique<ComposedMemo>(*order_, options_);
    memo->scratch = placement_->NewScratch();
    return memo;
  }

  Turns InTurn(const Snapshot& snapshot) const override {
    Turns turns{{}, order_->ByUser(), HaveShare(snapshot, options_.project_shares)};
    std::vector<JobId> cpu_only;
    Line line(*order_, true, options_.project_shares);
    line.Rebuild(snapshot);
    line.Walk(snapshot, std::numeric_limits<int>::max(), [&](JobId id) {
      (snapshot.job(id).cpu_only() ? cpu_only : turns.jobs).push_back(id);
      return true;
    });
    turns.jobs.insert(turns.jobs.end(), cpu_only.begin(), cpu_only.end());
    return turns;
  }

  Plan Decide(const Snapshot& snapshot, std::span<const Change> since_last,
              Memo& memo_base) const override {
    auto& memo = static_cast<ComposedMemo&>(memo_base);
    Plan plan;
    ++memo.decision;
    memo.kept_for = {};
    memo.kept_gpu = {};
    memo.kept.clear();
    // In this order: cores that running jobs give back can start another in the same plan; only who
    // found no free place pushes others out; and CPU-only jobs take what training jobs left.
    Sync(snapshot, since_last, memo);
    DropInfeasible(snapshot, since_last, memo, plan);
    if (order_->Preempts()) {
      ChooseFromEverybody(snapshot, memo, plan);
    } else {
      AdjustCores(snapshot, *sizing_, memo.ledger, plan);
      FillFree(snapshot, memo, plan);
      PushOut(snapshot, memo, plan);
      if (options_.projects_reclaim) TakeBackShares(snapshot, memo, plan);
    }
    PlaceCpuJobs(snapshot, memo.cpu_line, memo.ledger, sizing_->CpuJobsGiveWay(), order_->ByUser(),
                 plan, [&](JobId id, const Reason& reason) { Note(memo, id, reason, plan); });
    ForgetWaitsOfStarted(plan);
    WakeBy(placement_->WakeAt(ContextOf(snapshot, memo.ledger, memo)), plan);
    if (order_->Preempts()) WakeBy(NextKeyAt(snapshot, *order_, options_, plan), plan);
    memo.fresh = false;
    return plan;
  }

 private:
  void Sync(const Snapshot& snapshot, std::span<const Change> changes, ComposedMemo& memo) const {
    // A move leaves GPUs that the job no longer names: begin anew, moves are rare where this is
    // used.
    const bool moved = std::any_of(changes.begin(), changes.end(),
                                   [](const Change& c) { return c.kind == Change::Kind::kMoved; });
    FindChanged(snapshot, changes, memo.fresh || moved, memo.changed);
    if (memo.fresh) {
      memo.line.Rebuild(snapshot);
      memo.cpu_line.Rebuild(snapshot);
      for (JobId id : snapshot.waiting()) memo.pushers.Update(snapshot.job(id));
      memo.ledger = NewLedger(snapshot);
      memo.nobody = memo.ledger;
      memo.nobody.Empty(snapshot, true);
      return;
    }
    memo.ledger.ForgetPlanned();
    if (memo.line.Outdated(snapshot)) memo.line.Rebuild(snapshot);
    if (moved || order_->Preempts()) memo.ledger.Rebuild(snapshot);
    for (const Change& change : changes) {
      const JobView& view = snapshot.job(change.job);
      memo.line.Update(snapshot, change.job);
      memo.cpu_line.Update(snapshot, change.job);
      memo.pushers.Update(view);
      if (view.state != JobState::kWaiting && change.job.index() < memo.told.size()) {
        memo.told[change.job.index()].reset();
      }
      if (!moved && change.kind != Change::Kind::kSubmitted) memo.ledger.Refresh(snapshot, view);
    }
  }

  Ledger NewLedger(const Snapshot& snapshot) const {
    return Ledger(snapshot, options_.max_jobs_on_gpu, sizing_->CpuJobsGiveWay());
  }

  Context ContextOf(const Snapshot& snapshot, const Ledger& ledger,
                    const ComposedMemo& memo) const {
    return {snapshot,           ledger,        *sizing_,    options_,     memo.changed.list(),
            memo.scratch.get(), memo.decision, memo.opened, memo.kept_gpu};
  }

  // Reported as such, not waited for. A job's feasibility never changes, so new ones are enough.
  void DropInfeasible(const Snapshot& snapshot, std::span<const Change> changes, ComposedMemo& memo,
                      Plan& plan) const {
    const Context nobody = ContextOf(snapshot, memo.nobody, memo);
    const auto look = [&](JobId id) {
      const JobView& view = snapshot.job(id);
      if (view.state == JobState::kWaiting && !Feasible(nobody, view))
        plan.infeasible.push_back(id);
    };
    if (memo.fresh) {
      for (JobId id : snapshot.waiting()) look(id);
    } else {
      for (const Change& c : changes) {
        if (c.kind == Change::Kind::kSubmitted) look(c.job);
      }
    }
    std::sort(plan.infeasible.begin(), plan.infeasible.end());
  }

  static bool Dropped(const Plan& plan, JobId id) {
    return std::binary_search(plan.infeasible.begin(), plan.infeasible.end(), id);
  }

  static void Note(ComposedMemo& memo, JobId id, const Reason& reason, Plan& plan) {
    if (id.index() >= memo.told.size()) memo.told.resize(id.index() + 1);
    auto& told = memo.told[id.index()];
    if (told == reason) return;
    told = reason;
    plan.waits.push_back({id, reason});
  }

  // A job tried twice in one plan may have been told to wait before it found its place.
  static void ForgetWaitsOfStarted(Plan& plan) {
    if (plan.waits.empty() || plan.starts.empty()) return;
    std::vector<JobId> started;
    for (const auto& start : plan.starts) started.push_back(start.job);
    std::sort(started.begin(), started.end());
    std::erase_if(plan.waits, [&](const core::Wait& wait) {
      return std::binary_search(started.begin(), started.end(), wait.job);
    });
  }

  Choice PlaceOf(const Snapshot& snapshot, const Ledger& ledger, const ComposedMemo& memo,
                 const JobView& view) const {
    if (view.paused) return PausedPlace(snapshot, ledger, view);
    return placement_->Place(ContextOf(snapshot, ledger, memo), view);
  }

  bool TryStart(const Snapshot& snapshot, ComposedMemo& memo, JobId id, Plan& plan,
                bool tell = true) const {
    const JobView& view = snapshot.job(id);
    Choice choice = PlaceOf(snapshot, memo.ledger, memo, view);
    if (auto* reason = std::get_if<Reason>(&choice)) {
      if (!tell) return false;
      if (memo.ledger.any_closed()) *reason = reason::HeldBack{memo.kept_for};
      if (!view.paused) *reason = ShortOf(ContextOf(snapshot, memo.ledger, memo), view, *reason);
      if (view.job.preempts && snapshot.staying() > 0) {
        memo.pushers.Refuse(id, *reason);
      } else {
        Note(memo, id, *reason, plan);
      }
      return false;
    }
    auto& chosen = std::get<Chosen>(choice);
    memo.ledger.Occupy(snapshot, id, chosen.to);
    if (view.job.gpus == 1) memo.changed.Add(chosen.to.gpus.front());
    plan.starts.push_back({id, std::move(chosen.to), chosen.profile, chosen.reason});
    return true;
  }

  void FillFree(const Snapshot& snapshot, ComposedMemo& memo, Plan& plan) const {
    placement_->Rearrange(ContextOf(snapshot, memo.ledger, memo), plan);
    for (const auto& move : plan.moves) {
      memo.ledger.Vacate(snapshot, move.job, snapshot.job(move.job).allocation);
      memo.ledger.Occupy(snapshot, move.job, move.to);
    }
    memo.kept_gpu = placement_->KeepsForGuest(ContextOf(snapshot, memo.ledger, memo));
    if (makes_room_) return FillMakingRoom(snapshot, memo, plan);
    const Kept kept = KeepForOvertaken(snapshot, memo, plan);
    const auto serve = [&](JobId id, bool tell) {
      if (id == kept.job || Dropped(plan, id)) return true;
      return TryStart(snapshot, memo, id, plan, tell);
    };
    memo.line.Walk(snapshot, misses_, plan.infeasible, [&](JobId id) { return serve(id, true); });
    if (!memo.ledger.any_closed()) return;
    // On the kept nodes, whoever is believed to be gone in time.
    memo.ledger.Reopen(snapshot);
    std::vector<JobId> started;
    for (const auto& start : plan.starts) started.push_back(start.job);
    std::sort(started.begin(), started.end());
    memo.line.Walk(snapshot, misses_, plan.infeasible, [&](JobId id) {
      if (std::binary_search(started.begin(), started.end(), id)) return true;
      if (ExpectedRemaining(snapshot, snapshot.job(id)) > kept.until.value) return false;
      return serve(id, false);  // why it waits was told above
    });
  }

  void FillMakingRoom(const Snapshot& snapshot, ComposedMemo& memo, Plan& plan) const {
    Reservations reservations(snapshot, memo.ledger);
    const JobId late = reservations.Late(memo.line.Oldest(snapshot));
    if (late.valid() && !Dropped(plan, late) && !TryStart(snapshot, memo, late, plan))
      memo.kept_for = reservations.Keep(snapshot.job(late), true);
    memo.line.Walk(snapshot, misses_, plan.infeasible, [&](JobId id) {
      if (id == late || Dropped(plan, id) || TryStart(snapshot, memo, id, plan)) return true;
      const JobView& view = snapshot.job(id);
      const auto could = [&](Reservations::Nodes nodes) {
        return view.paused ||
               placement_->MayOpen(ContextOf(snapshot, memo.ledger, memo), view, nodes);
      };
      const auto start = [&](Reservations::Nodes nodes) {
        memo.opened = nodes;
        const bool started = TryStart(snapshot, memo, id, plan, false);
        memo.opened = {};
        return started;
      };
      if (reservations.WithKept(view, could, start)) return true;
      memo.kept_for = reservations.Keep(view);
      return false;
    });
    memo.kept = reservations.kept();
  }

  // Where jobs may push others out by priority, and found no place: in turn.
  void PushOut(const Snapshot& snapshot, ComposedMemo& memo, Plan& plan) const {
    memo.pushers.PushOut(
        snapshot, *order_,
        [&](const Ledger& ledger, const JobView& view) {
          return PlaceOf(snapshot, ledger, memo, view);
        },
        [&](JobId id) { return Dropped(plan, id); }, memo.ledger, plan);
    for (const auto& [id, reason] : memo.pushers.TakeRefused()) {
      if (!memo.ledger.planned(id)) Note(memo, id, reason, plan);
    }
  }

  // Where projects below their share found no place for their jobs, and others have borrowed
  // theirs.
  void TakeBackShares(const Snapshot& snapshot, ComposedMemo& memo, Plan& plan) const {
    const auto place = [&](const Ledger& ledger, const JobView& view) {
      return PlaceOf(snapshot, ledger, memo, view);
    };
    const auto dropped = [&](JobId id) { return Dropped(plan, id); };
    WakeBy(TakeBack({snapshot, options_.project_shares, memo.kept, place, dropped}, memo.line,
                    memo.ledger, plan),
           plan);
  }

  struct Kept {
    JobId job;      // the job it served or keeps places for, which the walk then leaves alone
    Seconds until;  // from now, as believed: when the places will be free for it
  };

  Kept KeepForOvertaken(const Snapshot& snapshot, ComposedMemo& memo, Plan& plan) const {
    const auto oldest = memo.line.Oldest(snapshot);
    if (!oldest) return {};
    const JobView& view = snapshot.job(*oldest);
    if (view.cpu_only() || Dropped(plan, *oldest)) return {};
    if (snapshot.youngest_started() - view.job.submit < kOvertakenBy) return {};
    if (TryStart(snapshot, memo, *oldest, plan)) return {*oldest, {}};
    memo.kept_for = *oldest;
    std::optional<SoonFree> soonest;
    for (std::size_t m = 0; m < snapshot.cluster().models().size(); ++m) {
      auto found = SoonestFree(snapshot, memo.ledger, view, core::GpuModelId(m));
      if (found && (!soonest || found->in < soonest->in)) soonest = std::move(found);
    }
    if (!soonest) return {*oldest, {}};
    for (NodeId node : soonest->nodes) memo.ledger.Close(snapshot, node);
    memo.kept.push_back({*oldest, std::move(soonest->nodes)});
    return {*oldest, soonest->in};
  }

  void ChooseFromEverybody(const Snapshot& snapshot, ComposedMemo& memo, Plan& plan) const {
    ChooseAnew({snapshot, *order_, options_, [&] { return NewLedger(snapshot); },
                [&](const Ledger& ledger, const JobView& view) {
                  return PlaceOf(snapshot, ledger, memo, view);
                },
                [&](const Ledger& ledger, const JobView& view) -> std::optional<Reason> {
                  return NoHostMemory(ContextOf(snapshot, ledger, memo), view);
                },
                [&](JobId id) { return Dropped(plan, id); },
                [&](JobId id, const Reason& reason) { Note(memo, id, reason, plan); }},
               memo.ledger, plan);
  }

  std::string name_;
  std::unique_ptr<Order> order_;
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Sizing> sizing_;
  Options options_;
  int misses_;
  bool makes_room_;
};

}  // namespace

std::unique_ptr<Policy> Compose(std::string name, std::unique_ptr<Order> order,
                                std::unique_ptr<Placement> placement,
                                std::unique_ptr<Sizing> sizing, Options options, int misses,
                                bool makes_room) {
  return std::make_unique<Composed>(std::move(name), std::move(order), std::move(placement),
                                    std::move(sizing), std::move(options), misses, makes_room);
}

}  // namespace sharewell::policy
