// Stand-ins that go wrong by chance, for the test of the whole service under faults: a store, a
// clock, a policy and a runner, and the kill -9 that may come at any of their doors. The same seed
// gives the same history.
//
// What is true is kept here, and what must never happen is looked for; Faults::wrong says what did
// first.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/sampling/sampler.h"
#include "control/service/test_parts.h"
#include "core/numbers/random.h"

namespace sharewell::control {

struct Killed {};  // thrown: the server is not there any more

// What goes wrong at the moment.
struct Faults {
  explicit Faults(std::uint64_t from) : seed(from) {}
  double Uniform() { return core::Uniform(core::HashOf({seed, ++drawn})); }  // in (0, 1)
  bool Chance(double p) { return on && Uniform() < p; }
  void MayKill() {
    if (Chance(kill)) throw Killed();
  }
  void Wrong(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }

  const std::uint64_t seed;
  std::uint64_t drawn = 0;
  bool on = true;
  bool full = false;               // the disk: no write succeeds
  double refuse = 0;               // a write, which stores nothing
  double lose = 0;                 // the answer of a write that stored it all
  double slow = 0;                 // a write
  double kill = 0;                 // at each write and command, before or after it
  double bad_plan = 0;             // a decision
  core::UnixMillis clock_off = 0;  // the wall clock's error
  std::string wrong;
};

// A store in memory.
class FaultyJobs : public MemoryJobs {
 public:
  // `passes`: so much time goes by.
  FaultyJobs(Faults& faults, std::function<void(core::Seconds)> passes)
      : faults_(faults), passes_(std::move(passes)) {}

  core::Result<void> Write(const store::JobChanges& changes) override {
    faults_.MayKill();
    if (faults_.Chance(faults_.slow)) passes_(core::Seconds(30 * faults_.Uniform()));
    if ((faults_.on && faults_.full) || faults_.Chance(faults_.refuse)) {
      up = false;
      return core::FailedError("the disk is full");
    }
    for (const auto& job : changes.jobs) jobs[job.number] = job;
    for (const auto& event : changes.events) events[event.id] = event;
    for (const auto& [name, value] : changes.kept) kept[name] = value;
    last_event = events.empty() ? 0 : events.rbegin()->first;
    faults_.MayKill();
    up = !faults_.Chance(faults_.lose);
    if (!up) return core::FailedError("the answer was lost");
    return {};
  }
  core::Result<void> TidyJobs(core::UnixMillis ended_before, std::int64_t) override {
    constexpr core::UnixMillis kYear = core::UnixMillis{365} * 86'400'000;
    if (ended_before > today() - kYear + 1000) faults_.Wrong("history is removed before its time");
    return {};
  }

  bool up = true;  // the last write succeeded
  std::map<std::int64_t, core::Event> events;
  std::function<core::UnixMillis()> today;  // as it truly is

 private:
  Faults& faults_;
  std::function<void(core::Seconds)> passes_;
};

class FaultyClock : public Clock {
 public:
  static constexpr core::UnixMillis kBegin = 1'800'000'000'000;
  FaultyClock(const Faults& faults, engine::Runner& runner) : faults_(faults), runner_(runner) {}
  std::chrono::nanoseconds Steady() override {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(runner_.Now().value * 1e9));
  }
  core::UnixMillis Wall() override { return True() + (faults_.on ? faults_.clock_off : 0); }
  core::UnixMillis True() {
    return kBegin + static_cast<core::UnixMillis>(runner_.Now().value * 1e3);
  }

 private:
  const Faults& faults_;
  engine::Runner& runner_;
};

// A policy that starts, at times, a job that is not there.
class FaultyPolicy : public policy::Policy {
 public:
  FaultyPolicy(Faults& faults, std::unique_ptr<policy::Policy> policy)
      : faults_(faults), policy_(std::move(policy)) {}
  const std::string& Name() const override { return policy_->Name(); }
  std::unique_ptr<policy::Memo> NewMemo() const override { return policy_->NewMemo(); }
  core::Plan Decide(const core::Snapshot& snapshot, std::span<const core::Change> changes,
                    policy::Memo& memo) const override {
    core::Plan plan = policy_->Decide(snapshot, changes, memo);
    bad = faults_.Chance(faults_.bad_plan);
    if (bad) plan.starts.push_back({core::JobId(snapshot.job_count()), {}, {}, {}});
    return plan;
  }
  mutable bool bad = false;  // the last one

 private:
  Faults& faults_;
  std::unique_ptr<policy::Policy> policy_;
};

// Passes on what it is told. When the time of `next` has come while the server waits, `happens` is
// called: what users ask, and what goes wrong by itself.
class FaultyRunner : public engine::Runner {
 public:
  FaultyRunner(Faults& faults, engine::Runner& runner) : faults_(faults), runner_(runner) {}
  core::Seconds Now() override { return runner_.Now(); }
  void Start(const engine::RunRequest& request) override {
    faults_.MayKill();
    starts(request);
    runner_.Start(request);
    faults_.MayKill();
  }
  void Stop(engine::RunId id, const engine::StopOrder& order) override {
    faults_.MayKill();
    runner_.Stop(id, order);
    faults_.MayKill();
  }
  void Change(engine::RunId id, const engine::RunBounds& bounds) override {
    runner_.Change(id, bounds);
  }
  std::vector<engine::RunRequest> Recover() override { return runner_.Recover(); }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override {
    runner_.Wait(until ? std::min(*until, next) : next, out);
    if (Now() >= next) happens();
    return true;
  }
  void Wake() override {}
  void Forget(engine::RunId id) override {
    faults_.MayKill();
    runner_.Forget(id);
  }

  core::Seconds next;
  std::function<void()> happens;
  std::function<void(const engine::RunRequest&)> starts;  // is about to be

 private:
  Faults& faults_;
  engine::Runner& runner_;
};

}  // namespace sharewell::control
