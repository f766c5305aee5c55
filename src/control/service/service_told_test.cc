// What running jobs tell of their steps, as the service believes it: over a runner that is played
// by hand, and a reader that answers when the test says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using engine::RunId;
using testing::ElementsAre;
using testing::HasSubstr;

class PlayedReader final : public ToldReader {
 public:
  void Read(const core::JobRecord& job, std::string document, Answer answer) override {
    const std::lock_guard lock(mutex_);
    asked_[job.number] = std::move(answer);
    documents_.push_back(std::move(document));
  }
  Answer Take(std::int64_t number) {
    for (int i = 0; i < 3000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (const auto found = asked_.find(number); found != asked_.end()) {
          Answer answer = std::move(found->second);
          asked_.erase(found);
          return answer;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "nobody asked for the step of job " << number;
    return [](const core::Result<core::Told>&) {};
  }
  std::vector<std::string> documents() {
    const std::lock_guard lock(mutex_);
    return documents_;
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, Answer> asked_;
  std::vector<std::string> documents_;
};

// Believes what a step is predicted to need, of its own job and of the same script's.
class ToldAdvisor final : public Advisor {
 public:
  core::Result<void> Check(const core::Account&, const core::Submission&) override { return {}; }
  core::Needs NeedsOf(const core::Account&, const core::Submission& asked) override {
    return asked.script.empty() ? core::Needs() : scripts[asked.script];
  }
  core::Needs NeedsTold(const core::JobRecord& record) override {
    scripts[record.asked.script] = *record.told->predicted;
    return *record.told->predicted;
  }
  core::Estimate EstimateOf(const core::JobRecord& record) override {
    core::Estimate estimate;
    estimate.on.resize(1);
    estimate.on.front().demand.known = record.believed.profile.busy.has_value();
    return estimate;
  }
  core::WorkloadId WorkloadOf(const core::Account&, const core::Submission&) override { return {}; }
  const policy::Policy& Policy() override { return *policy; }
  void LearnShared(const core::SharedRun&) override {}
  void LearnRun(const core::JobRecord& record, const core::Profile&) override {
    (record.told ? learnt_with : learnt_without).push_back(record.number);
  }
  void LearnStep(const core::JobRecord& record, const core::Profile&) override {
    if (record.told) learnt_late.push_back(record.number);
  }

  std::unique_ptr<policy::Policy> policy = fixtures::MakePolicy("fifo", {});
  std::map<std::string, core::Needs> scripts;
  std::vector<std::int64_t> learnt_with, learnt_without, learnt_late;
};

class ServiceToldTest : public testing::Test {
 protected:
  ServiceToldTest() : cluster_(fixtures::ClusterBuilder().Node(1).Build()) {
    GpuView gpu;
    gpu.gpu = {0, "GPU-0", "V100"};
    ServiceOptions options;
    options.told_reader = &reader_;
    service_ = std::make_unique<Service>(cluster_, std::vector<GpuView>{gpu}, runner_, advisor_,
                                         jobs_, options);
    EXPECT_TRUE(service_->Start());
  }
  std::int64_t Submit(const std::string& script = "") {
    core::Submission job;
    job.command = {"python3", "train.py"};
    job.script = script;
    auto promise = std::make_shared<std::promise<std::int64_t>>();
    auto answer = promise->get_future();
    service_->Submit({job}, kAnn, [promise](core::Result<std::vector<JobPtr>> told) {
      promise->set_value(told ? told->front()->number : 0);
    });
    return answer.get();
  }
  template <class F>
  bool Comes(std::int64_t number, F is_so) {
    for (int i = 0; i < 3000; ++i) {
      const JobPtr job = service_->board().Find(number);
      if (job != nullptr && is_so(*job)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const JobPtr job = service_->board().Find(number);
    ADD_FAILURE() << core::NameOf(job->phase) << " " << job->reason << " " << job->note;
    return false;
  }
  void Runs(std::int64_t number) {
    Comes(number, [](const auto& job) { return job.phase == Phase::kRunning; });
  }
  static core::Told Step(double busy) {
    core::Told told;
    told.fingerprint = "0123";
    told.batch = 64;
    told.predicted.emplace().profile.busy = busy;
    told.predicted->sources = core::Sources::All(core::Source::kPredicted);
    return told;
  }

  core::Cluster cluster_;
  HandRunner runner_;
  ToldAdvisor advisor_;
  MemoryJobs jobs_;
  PlayedReader reader_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceToldTest, WhatAJobTellsIsBelievedWhileItRuns) {
  const std::int64_t number = Submit();
  Runs(number);
  runner_.Emit(engine::RunTold{{number, 1}, "{}", {}});
  const auto answer = reader_.Take(number);
  EXPECT_THAT(reader_.documents(), ElementsAre("{}"));
  answer(Step(0.5));
  EXPECT_TRUE(Comes(number, [](const auto& job) {
    return job.told && job.told->batch == 64 && job.believed.profile.busy == 0.5 &&
           job.believed.sources.busy == core::Source::kPredicted;
  }));
  runner_.End({number, 1}, 0);
  Comes(number, [](const auto& job) { return job.phase == Phase::kFinished; });
  WaitForTurn(*service_);
  EXPECT_THAT(advisor_.learnt_with, ElementsAre(number));
  EXPECT_EQ(jobs_.jobs.at(number).told->fingerprint, "0123");
}

TEST_F(ServiceToldTest, ThoseOfTheSameScriptThatWaitAreKnownThen) {
  const std::int64_t first = Submit("a"), second = Submit("a"), other = Submit("b");
  Runs(first);
  EXPECT_FALSE(service_->board().Find(second)->believed.profile.busy);
  runner_.Emit(engine::RunTold{{first, 1}, "{}", {}});
  reader_.Take(first)(Step(0.25));
  EXPECT_TRUE(Comes(second, [](const auto& job) { return job.believed.profile.busy == 0.25; }));
  EXPECT_FALSE(service_->board().Find(other)->believed.profile.busy);
}

TEST_F(ServiceToldTest, AStepThatIsReadAfterItsJobHasEndedIsLearntAllTheSame) {
  const std::int64_t number = Submit();
  Runs(number);
  runner_.Emit(engine::RunTold{{number, 1}, "{}", {}});
  const auto answer = reader_.Take(number);
  runner_.End({number, 1}, 0);
  Comes(number, [](const auto& job) { return job.phase == Phase::kFinished; });
  answer(Step(0.5));
  EXPECT_TRUE(Comes(number, [](const auto& job) { return job.told.has_value(); }));
  WaitForTurn(*service_);
  EXPECT_THAT(advisor_.learnt_without, ElementsAre(number));
  EXPECT_THAT(advisor_.learnt_late, ElementsAre(number));
}

TEST_F(ServiceToldTest, WhatIsWrongIsNotedAndNothingElseChanges) {
  const std::int64_t number = Submit();
  Runs(number);
  runner_.Emit(engine::RunTold{{number, 1}, {}, "TypeError: no"});
  runner_.Emit(engine::RunTold{{number, 1}, "[", {}});
  reader_.Take(number)(core::UsageError("it is no object"));
  EXPECT_TRUE(Comes(number, [](const auto& job) {
    return job.note ==
           "its steps are not watched from inside: TypeError: no; what it told of its step cannot "
           "be used: it is no object";
  }));
  const JobPtr job = service_->board().Find(number);
  EXPECT_FALSE(job->told);
  EXPECT_EQ(job->phase, Phase::kRunning);
  runner_.Emit(engine::RunTold{{number, 7}, "{}", {}});  // of no attempt of it
  WaitForTurn(*service_);
  EXPECT_EQ(reader_.documents().size(), 1U);
}

}  // namespace
}  // namespace sharewell::control
