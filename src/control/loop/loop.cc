#include "control/loop/loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>

#include "engine/check_plan.h"

namespace sharewell::control {
namespace {

// When what was decided could not be kept (a full disk), or broke a rule. The latter more seldom
// each time: a bug does not heal, and what it is asked for changes with the queue.
constexpr core::Seconds kAskAgain(1);
constexpr core::Seconds kAskAgainMost(60);

}  // namespace

using core::Change;
using core::JobId;
using core::JobState;

Loop::Loop(core::Snapshot& snapshot, const policy::Policy& policy, engine::Engine& engine,
           Estimator& estimator, Recorder& recorder)
    : snapshot_(snapshot),
      policy_(&policy),
      engine_(engine),
      estimator_(estimator),
      recorder_(recorder),
      memo_(policy.NewMemo()) {}

void Loop::Write(const engine::Observation& observed) {
  snapshot_.AdvanceTo(observed.now);
  for (JobId id : observed.finished) {
    snapshot_.Finish(id, JobState::kFinished);
    changes_.push_back({Change::Kind::kFinished, id});
  }
  for (JobId id : observed.failed) {
    snapshot_.Finish(id, JobState::kFailed);
    changes_.push_back({Change::Kind::kFailed, id});
  }
  for (JobId id : observed.out_of_memory) {
    snapshot_.CountOom(id);
    snapshot_.Stop(id);
    changes_.push_back({Change::Kind::kStopped, id});
  }
  for (JobId id : observed.requeued) {
    if (snapshot_.job(id).state != JobState::kRunning) continue;  // a plan stopped it meanwhile
    snapshot_.Stop(id);
    changes_.push_back({Change::Kind::kStopped, id});
  }
  for (const auto& p : observed.progress) {
    if (snapshot_.job(p.job).state == JobState::kRunning)
      snapshot_.Observe(p.job, p.attained, p.rate, p.startup);
  }
  for (JobId id : observed.profiled) {
    if (snapshot_.job(id).state != JobState::kRunning) continue;
    snapshot_.SetEstimate(id, estimator_.Measured(snapshot_.job(id).job), true);
    changes_.push_back({Change::Kind::kProfiled, id});
  }
  for (JobId id : observed.told) {
    if (snapshot_.job(id).state != JobState::kRunning || snapshot_.job(id).profiled) continue;
    snapshot_.SetEstimate(id, estimator_.Told(snapshot_.job(id).job), false);
    changes_.push_back({Change::Kind::kProfiled, id});
  }
  for (const core::Job& job : observed.submitted) {
    snapshot_.Submit(job, estimator_.Believe(job));
    changes_.push_back({Change::Kind::kSubmitted, job.id});
  }
  for (const auto& paused : observed.paused) {
    const core::JobView& view = snapshot_.job(paused.job);
    if (view.state != JobState::kWaiting) continue;
    const bool news = view.paused != paused.where.has_value() ||
                      (paused.where && view.allocation.gpus != paused.where->gpus);
    snapshot_.SetPaused(paused.job, paused.where);
    if (news) changes_.push_back({Change::Kind::kStopped, paused.job});  // of its host memory
  }
  for (const auto& staying : observed.stays) {
    if (staying.where) snapshot_.TakeBack(staying.job, *staying.where, staying.since);
    if (snapshot_.job(staying.job).state != JobState::kRunning) continue;
    snapshot_.SetStays(staying.job, staying.stays);
    // A plan may have had it elsewhere.
    changes_.push_back(
        {staying.where ? Change::Kind::kMoved : Change::Kind::kStarted, staying.job});
  }
}

void Loop::Seat(core::Job job, core::Estimate estimate, const core::Allocation& where) {
  undecided_ = true;
  const JobId id = job.id;
  snapshot_.Submit(std::move(job), std::move(estimate));
  snapshot_.Start(id, where);
  changes_.push_back({Change::Kind::kSubmitted, id});
  changes_.push_back({Change::Kind::kStarted, id});
}

void Loop::Unseat(JobId id) {
  undecided_ = true;
  snapshot_.Finish(id, JobState::kFinished);
  changes_.push_back({Change::Kind::kFinished, id});
}

void Loop::Learn(JobId id, core::Estimate estimate, bool measured) {
  snapshot_.SetEstimate(id, std::move(estimate), measured);
  learnt_.push_back(id);
  Follow(*policy_);  // memos keep what they were first told
}

void Loop::SetForeignMemory(core::GpuId gpu, core::Bytes held) {
  snapshot_.SetForeignMemory(gpu, held);
  Follow(*policy_);
}

void Loop::SetForeignHost(core::NodeId node, double cores, core::Bytes memory) {
  snapshot_.SetForeignHost(node, cores, memory);
  Follow(*policy_);
}

void Loop::Resize(JobId id, double cores) {
  undecided_ = true;
  snapshot_.Resize(id, cores);
  changes_.push_back({Change::Kind::kStarted, id});  // as it runs now
}

void Loop::Grow() {
  snapshot_.Grow();
  Follow(*policy_);
}

void Loop::Renumber(const core::Renumbering& ids) {
  snapshot_.Renumber(ids);
  for (JobId& id : learnt_) id = ids.Of(id);
  std::erase_if(learnt_, [](JobId id) { return !id.valid(); });
  Follow(*policy_);
}

void Loop::Follow(const policy::Policy& policy) {
  EmitChanges();
  policy_ = &policy;
  memo_ = policy.NewMemo();
  changes_.clear();
  told_ = 0;
  undecided_ = true;
}

void Loop::TurnBy(core::Seconds at) { wake_ = wake_ ? std::min(*wake_, at) : at; }

void Loop::AskAgain(core::Seconds after) {
  Follow(*policy_);
  TurnBy(snapshot_.now() + after);
}

void Loop::Watch(Guard& guard, Readings& readings) {
  guard_ = &guard;
  readings_ = &readings;
}

void Loop::EmitChanges() {
  if (readings_ == nullptr) return;
  readings_->AfterChanges(snapshot_, std::span(changes_).subspan(told_));
  told_ = changes_.size();
}

core::Result<Loop::Done> Loop::CarryOut(const core::Plan& plan, const std::string& whose) {
  if (auto ok = engine::CheckPlan(snapshot_, plan); !ok) {
    wake_.reset();  // the plan's own is as bad as the plan
    AskAgain(std::min(kAskAgain * std::exp2(bad_plans_++), kAskAgainMost));
    return tl::unexpected(std::move(ok.error()).Within(whose + " made a bad plan"));
  }
  bad_plans_ = 0;
  if (const auto kept = recorder_.OnPlan(snapshot_, plan); !kept) {
    AskAgain(kAskAgain);
    return Done::kNotKept;
  }
  if (readings_ != nullptr) readings_->BeforePlan(snapshot_, plan);
  Apply(plan);
  EmitChanges();
  return Done::kApplied;
}

core::Result<bool> Loop::LookAtBounds() {
  const std::vector<Standing> running = readings_->Read(snapshot_);
  const Verdict verdict = guard_->Look(snapshot_.now(), running);
  readings_->OnVerdict(snapshot_, running, verdict);
  core::Plan plan;
  for (const Eviction& eviction : verdict.leave) {
    plan.stops.push_back({eviction.job, eviction.why});
  }
  if (plan.stops.empty()) return false;
  const auto done = CarryOut(plan, "the guard");
  RETURN_IF_ERROR(done);
  return *done == Done::kApplied;
}

core::Result<bool> Loop::Turn() {
  const std::optional<core::Seconds> until =
      wake_ && look_at_ ? std::min(*wake_, *look_at_) : (wake_ ? wake_ : look_at_);
  if (!engine_.Observe(until, observed_)) return false;
  Write(observed_);
  recorder_.OnObserved();
  EmitChanges();
  const auto decided = DecideOnBoundsAndQueue();
  // Whatever became of the plans: a time in the past would make every turn the guard's.
  if (readings_ != nullptr) look_at_ = readings_->NextLook(snapshot_);
  RETURN_IF_ERROR(decided);
  return true;
}

core::Result<void> Loop::DecideOnBoundsAndQueue() {
  const bool due = wake_ && snapshot_.now() >= *wake_;
  const bool looks = look_at_ && snapshot_.now() >= *look_at_;
  const bool news = observed_.news;
  const auto evicted = looks ? LookAtBounds() : core::Result<bool>(false);
  RETURN_IF_ERROR(evicted);
  if (looks && !due && !news && !*evicted && !undecided_) return {};
  return Decide();
}

core::Result<void> Loop::Decide() {
  // Learnt between turns, when it was earlier: whoever waits has not tried beside them since.
  for (const JobId id : learnt_) {
    const core::JobView& view = snapshot_.job(id);
    if (view.state != JobState::kRunning) continue;
    snapshot_.SetEstimate(id, view.estimate, view.profiled);
  }
  learnt_.clear();
  const auto begin = std::chrono::steady_clock::now();
  const core::Plan plan = policy_->Decide(snapshot_, changes_, *memo_);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  recorder_.OnDecision(core::Seconds(took.count()));
  changes_.clear();
  told_ = 0;
  undecided_ = false;
  wake_ = plan.wake_at;
  RETURN_IF_ERROR(CarryOut(plan, "policy " + policy_->Name()));
  return {};
}

void Loop::Apply(const core::Plan& plan) {
  for (const auto& stop : plan.stops) {
    stop.pause ? snapshot_.Pause(stop.job) : snapshot_.Stop(stop.job, core::IsEviction(stop));
    changes_.push_back({Change::Kind::kStopped, stop.job});
  }
  for (const auto& move : plan.moves) {
    snapshot_.Move(move.job, move.to);
    changes_.push_back({Change::Kind::kMoved, move.job});
  }
  for (const auto& resize : plan.resizes) snapshot_.Resize(resize.job, resize.cores);
  for (const auto& throttle : plan.throttles) snapshot_.SetThrottle(throttle.job, throttle.share);
  for (const auto& start : plan.starts) {
    snapshot_.Start(start.job, start.to);
    changes_.push_back({Change::Kind::kStarted, start.job});
  }
  for (JobId id : plan.infeasible) {
    snapshot_.Finish(id, JobState::kFailed);
    changes_.push_back({Change::Kind::kFailed, id});
  }
  engine_.Apply(plan, observed_);
  for (const auto& p : observed_.progress) {
    if (snapshot_.job(p.job).state == JobState::kRunning)
      snapshot_.Observe(p.job, p.attained, p.rate, p.startup);
  }
}

}  // namespace sharewell::control
