// Jobs that are paused and resumed, over a runner that is played by hand and a store in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using engine::RunRequest;
using testing::HasSubstr;

class ServicePausesTest : public testing::Test {
 protected:
  ServicePausesTest() : cluster_(fixtures::ClusterBuilder().Node(1).Build()) { Restart(); }

  void Restart(bool hold_pauses = false) {
    service_.reset();
    runner_ = std::make_unique<HandRunner>();
    runner_->found = found_;
    runner_->hold_pauses = hold_pauses;
    for (const RunRequest& run : found_) {
      runner_->started.insert(run.id);
      runner_->running.insert(run.id);
    }
    GpuView gpu;
    gpu.gpu = {0, "GPU-0", "V100"};
    ServiceOptions options;
    options.pause_gap = gap_;
    options.pauser = runner_.get();
    options.limits.of = [](const core::Account&) { return core::Limits{.queued_jobs = 5}; };
    service_ = std::make_unique<Service>(cluster_, std::vector<GpuView>{gpu}, *runner_, advisor_,
                                         jobs_, options);
    ASSERT_TRUE(service_->Start());
  }
  // As an earlier server left it in the run's folder.
  void Leave(std::int64_t number) {
    RunRequest run;
    run.id = {number, 1};
    run.user = kAnn;
    run.asked = jobs_.jobs.at(number).asked;
    run.gpus = {{0, "GPU-0", "V100"}};
    found_ = {run};
  }
  void Submit(bool exclusive = true) {
    core::Submission job;
    job.command = {"train"};
    job.gpus = 1;
    job.exclusive = exclusive;
    ASSERT_TRUE(Wait<std::vector<JobPtr>>(
        [&](auto answer) { service_->Submit({job}, kAnn, std::move(answer)); }));
  }
  std::string Refusal(Action action, std::int64_t number, const core::Account& who = kAnn) {
    const auto done =
        Wait<JobPtr>([&](auto answer) { service_->Act(action, number, who, answer); });
    return done ? std::string() : done.error().message;
  }
  // Within 30 s.
  template <class F>
  bool Comes(std::int64_t number, F is_so) {
    for (int i = 0; i < 3000; ++i) {
      const JobPtr job = service_->board().Find(number);
      if (job != nullptr && is_so(*job)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const JobPtr job = service_->board().Find(number);
    ADD_FAILURE() << core::NameOf(job->phase) << " " << job->paused << " " << job->reason << " "
                  << job->note;
    return false;
  }
  bool Runs(std::int64_t number) {
    return Comes(number, [](const auto& job) { return job.phase == Phase::kRunning; });
  }
  bool IsPaused(std::int64_t number) {
    return Comes(number, [](const auto& job) { return job.phase == Phase::kHeld && job.paused; });
  }
  void Paused() {
    Submit();
    ASSERT_TRUE(Runs(1));
    EXPECT_EQ(Refusal(Action::kPause, 1), "");
    ASSERT_TRUE(IsPaused(1));
  }

  core::Cluster cluster_;
  PlainAdvisor advisor_{fixtures::MakePolicy("slot", {})};
  MemoryJobs jobs_;
  std::vector<RunRequest> found_;
  core::Seconds gap_{0};
  std::unique_ptr<HandRunner> runner_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServicePausesTest, OthersRunMeanwhileAndItGoesOnAsTheSameAttempt) {
  Paused();
  Submit();
  ASSERT_TRUE(Runs(2));
  EXPECT_EQ(Refusal(Action::kResume, 1), "");
  EXPECT_TRUE(Comes(1, [](const auto& job) { return job.phase == Phase::kWaiting; }));
  EXPECT_EQ(runner_->resumes, 0);
  runner_->End({2, 1}, 0);
  ASSERT_TRUE(Runs(1));
  EXPECT_EQ(runner_->resumes, 1);
  const JobPtr job = service_->board().Find(1);
  EXPECT_EQ(job->attempt, 1);
  EXPECT_FALSE(job->paused);
  EXPECT_FALSE(runner_->Started({1, 2}));
  runner_->End({1, 1}, 0);
  EXPECT_TRUE(Comes(1, [](const auto& one) { return one.phase == Phase::kFinished; }));
}

TEST_F(ServicePausesTest, WhoCannotBePausedIsToldWhy) {
  Submit(false);
  ASSERT_TRUE(Runs(1));
  EXPECT_THAT(Refusal(Action::kPause, 1), HasSubstr("--exclusive"));
  EXPECT_THAT(Refusal(Action::kResume, 1), HasSubstr("not paused"));
  EXPECT_THAT(Refusal(Action::kPause, 1, kBob), HasSubstr("belongs to"));
  Submit();
  EXPECT_THAT(Refusal(Action::kPause, 2), HasSubstr("only a job that runs"));
  EXPECT_EQ(runner_->pauses, 0);
}

TEST_F(ServicePausesTest, APauseThatIsRefusedLeavesItRunningWithANote) {
  Submit();
  ASSERT_TRUE(Runs(1));
  runner_->refuse_pause = "no room";
  EXPECT_EQ(Refusal(Action::kPause, 1), "");
  EXPECT_TRUE(Comes(1, [](const auto& job) {
    return job.phase == Phase::kRunning && job.note.find("no room") != std::string::npos;
  }));
  EXPECT_FALSE(service_->board().Find(1)->asked.held);
}

TEST_F(ServicePausesTest, NotTwiceWithinAMinute) {
  gap_ = core::Seconds(60);
  Restart();
  Paused();
  EXPECT_EQ(Refusal(Action::kResume, 1), "");
  ASSERT_TRUE(Runs(1));
  EXPECT_THAT(Refusal(Action::kPause, 1), HasSubstr("try again in"));
}

TEST_F(ServicePausesTest, APausedJobSurvivesARestart) {
  Paused();
  service_->Stop();
  Leave(1);
  Restart();
  ASSERT_TRUE(IsPaused(1));
  Submit();
  ASSERT_TRUE(Runs(2));  // its GPU is free
  runner_->End({2, 1}, 0);
  EXPECT_EQ(Refusal(Action::kResume, 1), "");
  ASSERT_TRUE(Runs(1));
  EXPECT_EQ(runner_->resumes, 1);
  EXPECT_FALSE(runner_->Started({1, 2}));
}

TEST_F(ServicePausesTest, AServerThatIsKilledInTheMiddleOfAPauseIsFollowedByOneThatEndsIt) {
  Restart(true);
  Submit();
  ASSERT_TRUE(Runs(1));
  EXPECT_EQ(Refusal(Action::kPause, 1), "");
  service_->Stop();
  EXPECT_EQ(jobs_.jobs.at(1).phase, Phase::kStopping);
  Leave(1);
  Restart();
  ASSERT_TRUE(IsPaused(1));
  EXPECT_EQ(runner_->pauses, 1);
  EXPECT_EQ(Refusal(Action::kResume, 1), "");
  ASSERT_TRUE(Runs(1));
}

TEST_F(ServicePausesTest, OneWhoseProcessIsGoneBeginsAnewWhenItIsReleased) {
  Paused();
  service_->Stop();
  found_.clear();
  Restart();
  EXPECT_TRUE(Comes(1, [](const auto& job) { return job.phase == Phase::kHeld && !job.paused; }));
  EXPECT_EQ(Refusal(Action::kRelease, 1), "");
  ASSERT_TRUE(Runs(1));
  EXPECT_EQ(service_->board().Find(1)->attempt, 2);
}

TEST_F(ServicePausesTest, APausedJobThatIsCancelledIsEnded) {
  Paused();
  EXPECT_EQ(Refusal(Action::kCancel, 1), "");
  EXPECT_TRUE(Comes(1, [](const auto& job) { return job.phase == Phase::kCancelled; }));
  EXPECT_TRUE(runner_->RunsNothing());
}

TEST_F(ServicePausesTest, APausedJobWhoseProcessEndsIsHeld) {
  Paused();
  engine::RunEnded event{{1, 1}};
  event.end.lost = true;
  event.end.exit_code = 137;
  runner_->Emit(event);
  EXPECT_TRUE(Comes(1, [](const auto& job) { return core::IsOver(job.phase) || !job.paused; }));
}

}  // namespace
}  // namespace sharewell::control
