// For tests: a server's heart that does at once what it is asked, and a store in memory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "control/service/job_service.h"
#include "store/job_store.h"

namespace sharewell::api {

class FakeJobService final : public control::JobService {
 public:
  FakeJobService() {
    view.node = "here";
    view.policy = "sharewell";
    control::GpuView gpu;
    gpu.gpu = {0, "simulated-0", "H200"};
    gpu.memory = core::Bytes(1e11);
    gpu.simulated = true;
    view.gpus.push_back(gpu);
  }

  void Submit(std::vector<core::Submission> asked, const core::Account& who,
              Answer<std::vector<control::JobPtr>> answer) override {
    if (full) return answer(core::FailedError("the queue is full"));
    std::vector<control::JobPtr> made;
    for (core::Submission& job : asked) {
      jobs.Put(Record(std::move(job), who));
      made.push_back(jobs.Find(last));
    }
    answer(std::move(made));
  }
  void Act(control::Action action, std::int64_t number, const core::Account&,
           Answer<control::JobPtr> answer) override {
    core::JobRecord record = *jobs.Find(number);
    record.phase = action == control::Action::kCancel ? core::Phase::kCancelled
                   : action == control::Action::kHold ? core::Phase::kHeld
                                                      : core::Phase::kWaiting;
    jobs.Put(record);
    answer(jobs.Find(number));
  }
  void Drain(const std::string&, bool drained, const core::Account&, Answer<void> answer) override {
    view.gpus.front().drained = drained;
    answer({});
  }
  void Consider(core::Submission job, const core::Account& who,
                Answer<core::JobRecord> answer) override {
    answer(Record(std::move(job), who));
  }
  void Ahead(std::int64_t, Answer<std::optional<control::JobsAhead>> answer) override {
    answer(ahead);
  }
  std::optional<core::SpeedHistory> Speed(std::int64_t) const override { return speed; }
  const control::JobBoard& board() const override { return jobs; }
  control::EventHub& events() override { return hub; }
  control::ServiceView View() const override { return view; }

  control::JobBoard jobs;
  control::EventHub hub;
  control::ServiceView view;
  std::optional<control::JobsAhead> ahead;
  std::optional<core::SpeedHistory> speed;
  bool full = false;
  std::int64_t last = 0;

 private:
  core::JobRecord Record(core::Submission job, const core::Account& who) {
    core::JobRecord record;
    record.number = ++last;
    record.user = who;
    record.asked = std::move(job);
    record.reason = "no GPU is free";
    return record;
  }
};

// What it holds is shared by all that were opened from it.
struct FakeJobStore {
  std::vector<core::JobRecord> jobs;
  std::vector<core::Event> events;
  std::map<std::int64_t, core::SpeedHistory> speeds;
  bool away = false;  // jobs cannot be read

  class Opened final : public store::JobStore {
   public:
    explicit Opened(FakeJobStore& all) : all_(all) {}
    core::Result<void> Write(const store::JobChanges&) override { return {}; }
    core::Result<std::vector<core::JobRecord>> Jobs(const store::JobFilter& filter) override {
      if (all_.away) return core::FailedError("the database is away");
      std::vector<core::JobRecord> found;
      for (const core::JobRecord& job : all_.jobs) {
        const bool below = !filter.below || job.number < *filter.below;
        const bool asked = !filter.number || job.number == *filter.number;
        if (below && asked && found.size() < filter.most) found.push_back(job);
      }
      return found;
    }
    core::Result<std::map<std::int64_t, core::Phase>> PhasesOf(
        const std::vector<std::int64_t>& numbers) override {
      std::map<std::int64_t, core::Phase> phases;
      for (const core::JobRecord& job : all_.jobs) {
        if (std::find(numbers.begin(), numbers.end(), job.number) != numbers.end()) {
          phases[job.number] = job.phase;
        }
      }
      return phases;
    }
    core::Result<std::int64_t> LastNumber() override { return 0; }
    core::Result<std::int64_t> LastEvent() override {
      return all_.events.empty() ? 0 : all_.events.back().id;
    }
    core::Result<std::vector<core::Event>> Events(std::int64_t after, std::size_t most) override {
      std::vector<core::Event> found;
      for (const core::Event& event : all_.events) {
        if (event.id > after && found.size() < most) found.push_back(event);
      }
      return found;
    }
    core::Result<std::vector<core::SharedRun>> SharedRuns() override { return {}; }
    core::Result<std::optional<std::string>> Kept(const std::string&) override { return {}; }
    core::Result<std::optional<core::SpeedHistory>> SpeedOf(std::int64_t number) override {
      const auto found = all_.speeds.find(number);
      return found == all_.speeds.end() ? std::nullopt : std::optional(found->second);
    }
    core::Result<void> TidyJobs(core::UnixMillis, std::int64_t) override { return {}; }
    core::Result<void> BecomeServer() override { return {}; }

   private:
    FakeJobStore& all_;
  };
  core::Result<std::unique_ptr<store::JobStore>> Open() { return std::make_unique<Opened>(*this); }
};

}  // namespace sharewell::api
