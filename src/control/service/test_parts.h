// Stand-ins for the tests of this room: a runner that is played by hand, a store in memory, an
// advisor that lets everybody in, and three people.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/service/advisor.h"
#include "control/service/service.h"
#include "engine/pauser.h"
#include "engine/runner.h"
#include "policy/policy.h"
#include "store/job_store.h"

namespace sharewell::control {

// What `ask` answers to the callback that it is given.
template <class T, class Ask>
core::Result<T> Wait(Ask ask) {
  auto promise = std::make_shared<std::promise<core::Result<T>>>();
  auto answer = promise->get_future();
  ask([promise](core::Result<T> result) { promise->set_value(std::move(result)); });
  if (answer.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
    return core::FailedError("no answer");
  }
  return answer.get();
}

// A runner that is played by hand, on the real clock.
class HandRunner final : public engine::Runner, public engine::Pauser {
 public:
  core::Seconds Now() override {
    return core::Seconds(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
  }
  void Start(const engine::RunRequest& request) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(started.insert(request.id).second) << "started twice";
    if (refuse > 0) {
      --refuse;
      events_.push_back(engine::StartRefused{request.id, "no licence is free"});
      return;
    }
    running.insert(request.id);
    events_.push_back(engine::RunStarted{request.id});
  }
  void Stop(engine::RunId id, const engine::StopOrder&) override { End(id, 143); }
  void Pause(engine::RunId id, std::optional<core::Bytes>) override {
    const std::lock_guard lock(mutex_);
    ++pauses;
    if (hold_pauses) return;  // the test tells it, or never
    if (refuse_pause.empty()) {
      events_.push_back(engine::RunPaused{id, core::Bytes(4.1e9)});
    } else {
      events_.push_back(engine::PauseRefused{id, refuse_pause});
    }
    changed_.notify_all();
  }
  void Resume(engine::RunId id) override {
    const std::lock_guard lock(mutex_);
    ++resumes;
    events_.push_back(engine::RunResumed{id});
    changed_.notify_all();
  }
  std::string WhyNoPause() override { return {}; }
  void Change(engine::RunId id, const engine::RunBounds& bounds) override {
    const std::lock_guard lock(mutex_);
    if (bounds.share) shares[id] = *bounds.share;
  }
  std::vector<engine::RunRequest> Recover() override { return found; }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override {
    std::unique_lock lock(mutex_);
    const double most = until ? std::max(0.0, until->value - Now().value) : 60;
    changed_.wait_for(lock, std::chrono::duration<double>(most),
                      [&] { return woken_ || !events_.empty(); });
    woken_ = false;
    out.swap(events_);
    events_.clear();
    return true;
  }
  void Wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void Forget(engine::RunId id) override {
    const std::lock_guard lock(mutex_);
    forgotten.insert(id);
  }

  void End(engine::RunId id, int code, bool out_of_memory = false,
           const std::optional<engine::Fall>& fall = {}) {
    const std::lock_guard lock(mutex_);
    if (running.erase(id) == 0) return;
    engine::RunEnd end;
    end.exit_code = code;
    end.out_of_memory = out_of_memory;
    end.fall = fall;
    events_.push_back(engine::RunEnded{id, std::move(end)});
    changed_.notify_all();
  }
  bool Started(engine::RunId id) {
    const std::lock_guard lock(mutex_);
    return started.count(id) != 0;
  }
  bool Running(engine::RunId id) {
    const std::lock_guard lock(mutex_);
    return running.count(id) != 0;
  }
  core::Ratio ShareOf(engine::RunId id) {
    const std::lock_guard lock(mutex_);
    const auto set = shares.find(id);
    return set == shares.end() ? 1 : set->second;
  }
  bool RunsNothing() {
    const std::lock_guard lock(mutex_);
    return running.empty();
  }
  void Emit(engine::RunEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  std::set<engine::RunId> started, running, forgotten;
  std::map<engine::RunId, core::Ratio> shares;
  std::vector<engine::RunRequest> found;  // by Recover
  int refuse = 0;                         // the next starts; set it before the service runs
  std::atomic<int> pauses = 0, resumes = 0;
  std::atomic<bool> hold_pauses = false;  // they are under way for ever
  std::string refuse_pause;               // why; empty: they are done at once

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<engine::RunEvent> events_;
  bool woken_ = false;
};

class MemoryJobs : public store::JobStore {
 public:
  core::Result<void> Write(const store::JobChanges& changes) override {
    const std::lock_guard lock(mutex);
    ++writes;
    if (full) return core::FailedError("the disk is full");
    for (const auto& job : changes.jobs) jobs[job.number] = job;
    for (const auto& event : changes.events) {
      EXPECT_EQ(event.id, last_event + 1);
      last_event = event.id;
    }
    for (const auto& [name, value] : changes.kept) kept[name] = value;
    for (const auto& [number, history] : changes.speeds) speeds[number] = history;
    return {};
  }
  core::Result<std::optional<core::SpeedHistory>> SpeedOf(std::int64_t number) override {
    if (unreadable) return core::FailedError("the disk does not answer");
    const auto found = speeds.find(number);
    return found == speeds.end() ? std::nullopt : std::optional(found->second);
  }
  core::Result<std::vector<core::JobRecord>> Jobs(const store::JobFilter& filter) override {
    const std::lock_guard lock(mutex);
    ++reads;
    std::vector<core::JobRecord> found;
    for (const auto& [number, job] : jobs) {
      if (filter.number == number) found.push_back(job);
      for (const core::Phase phase : filter.phases) {
        if (job.phase == phase) found.push_back(job);
      }
    }
    return found;
  }
  core::Result<std::map<std::int64_t, core::Phase>> PhasesOf(
      const std::vector<std::int64_t>& numbers) override {
    ++phases_asked;
    ++reads;
    if (unreadable) return core::FailedError("the disk does not answer");
    std::map<std::int64_t, core::Phase> phases;
    for (const std::int64_t number : numbers) {
      if (const auto old = long_over.find(number); old != long_over.end()) phases.insert(*old);
      const auto found = jobs.find(number);
      if (found != jobs.end()) phases[number] = found->second.phase;
    }
    return phases;
  }
  core::Result<std::int64_t> LastNumber() override {
    return jobs.empty() ? 0 : jobs.rbegin()->first;
  }
  core::Result<std::int64_t> LastEvent() override { return last_event; }
  core::Result<std::vector<core::Event>> Events(std::int64_t, std::size_t) override { return {}; }
  core::Result<std::vector<core::SharedRun>> SharedRuns() override { return {}; }
  core::Result<std::optional<std::string>> Kept(const std::string& name) override {
    const auto found = kept.find(name);
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  }
  core::Result<std::map<std::string, std::string>> KeptUnder(const std::string& prefix) override {
    std::map<std::string, std::string> found;
    for (const auto& [name, value] : kept) {
      if (name.starts_with(prefix)) found[name.substr(prefix.size())] = value;
    }
    return found;
  }
  core::Result<void> TidyJobs(core::UnixMillis, std::int64_t) override { return {}; }
  core::Result<void> BecomeServer() override { return {}; }

  std::mutex mutex;
  bool full = false;
  std::map<std::int64_t, core::JobRecord> jobs;
  std::map<std::string, std::string> kept;
  std::map<std::int64_t, core::SpeedHistory> speeds;
  std::int64_t last_event = 0;
  int phases_asked = 0;
  std::atomic<int> reads{0}, writes{0};           // of jobs
  std::map<std::int64_t, core::Phase> long_over;  // older than what Jobs gives
  std::atomic<bool> unreadable{false};            // how a job ended
};

class PlainAdvisor final : public Advisor {
 public:
  explicit PlainAdvisor(std::unique_ptr<policy::Policy> policy)
      : policy_(std::move(policy)), followed_(policy_.get()) {}
  core::Result<void> Check(const core::Account&, const core::Submission& job) override {
    if (job.gpus > most) return core::UsageError("there are not so many GPUs");
    return {};
  }
  core::Needs NeedsOf(const core::Account& user, const core::Submission&) override {
    needs_asked_for.insert(user.name);
    return needs;
  }
  core::Estimate EstimateOf(const core::JobRecord& record) override {
    core::Estimate estimate;
    estimate.on.resize(1);
    if (believe) believe(record, estimate);
    return estimate;
  }
  core::WorkloadId WorkloadOf(const core::Account&, const core::Submission&) override { return {}; }
  const policy::Policy& Policy() override { return *followed_; }
  void Follow(const policy::Policy& policy) { followed_ = &policy; }  // it outlives this
  void LearnShared(const core::SharedRun& run) override { shared.push_back(run); }
  void LearnRun(const core::JobRecord& record, const core::Profile& seen) override {
    learnt.push_back(record.number);
    profiles.push_back(seen);
  }
  std::vector<std::int64_t> learnt;
  std::vector<core::Profile> profiles;  // of those
  std::vector<core::SharedRun> shared;
  core::Needs needs;                      // of every job
  std::set<std::string> needs_asked_for;  // users
  int most = 8;
  // What is believed of a job, where that is not nothing; set it before the service runs.
  std::function<void(const core::JobRecord&, core::Estimate&)> believe;

 private:
  std::unique_ptr<policy::Policy> policy_;
  const policy::Policy* followed_;
};

inline const core::Account kAnn{"ann", 1000, 1000, false};
inline const core::Account kBob{"bob", 1001, 1001, false};
inline const core::Account kRoot{"root", 0, 0, true};

// Waits until the turn under way is over: it shows a job's new phase first, and what View() tells
// at its end.
inline void WaitForTurn(Service& service) {
  auto asked = std::make_shared<std::promise<void>>();
  auto answer = asked->get_future();
  service.Ahead(0, [asked](const core::Result<std::optional<JobsAhead>>&) { asked->set_value(); });
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

}  // namespace sharewell::control
