// The service over a runner that is played by hand and a store in memory: what users are promised.
#include "control/service/service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "control/service/jobs/kept_usage.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using core::Result;
using engine::RunId;
using engine::RunRequest;

// Sees no job, but strangers on the one GPU as a test sets them.
class SeesStrangers final : public JobMonitor {
 public:
  void Began(const core::JobRecord&) override {}
  void Ended(std::int64_t) override {}
  core::Profile Seen(std::int64_t) override { return {}; }
  JobReading Now(std::int64_t, const std::string&) override { return {}; }
  std::vector<Stranger> StrangersOn(const std::string& gpu) override {
    const std::lock_guard lock(mutex_);
    return gpu == "GPU-0" ? strangers_ : std::vector<Stranger>();
  }
  void Set(std::vector<Stranger> strangers) {
    const std::lock_guard lock(mutex_);
    strangers_ = std::move(strangers);
  }

 private:
  std::mutex mutex_;
  std::vector<Stranger> strangers_;
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() : cluster_(fixtures::ClusterBuilder().Node(1).Build()) { Restart(); }

  void Restart() {
    service_.reset();
    runner_ = std::make_unique<HandRunner>();
    runner_->found = found_;
    runner_->running.clear();
    for (const RunRequest& run : found_) {
      runner_->started.insert(run.id);
      runner_->running.insert(run.id);
    }
    GpuView gpu;
    gpu.gpu = {0, uuid_, "V100"};
    ServiceOptions options;
    options.limits.of = [this](const core::Account&) { return limits_; };
    service_ = std::make_unique<Service>(cluster_, std::vector<GpuView>{gpu}, *runner_, advisor_,
                                         jobs_, options, &monitor_);
    ASSERT_TRUE(service_->Start());
  }
  static core::Submission Job(int gpus = 1) {
    core::Submission job;
    job.command = {"train"};
    job.gpus = gpus;
    return job;
  }
  Result<std::vector<JobPtr>> Submit(std::vector<core::Submission> all,
                                     const core::Account& who = kAnn) {
    return Wait<std::vector<JobPtr>>(
        [&](auto answer) { service_->Submit(std::move(all), who, std::move(answer)); });
  }
  Result<JobPtr> Act(Action action, std::int64_t number, const core::Account& who = kAnn) {
    return Wait<JobPtr>([&](auto answer) { service_->Act(action, number, who, answer); });
  }
  Result<void> Drain(bool drained, const core::Account& who = kRoot) {
    return Wait<void>([&](auto answer) { service_->Drain("0", drained, who, answer); });
  }
  // The phase it is in, or comes to within 30 s.
  Phase Comes(std::int64_t number, Phase to) {
    Phase phase = Phase::kHeld;
    for (int i = 0; i < 3000; ++i) {
      const JobPtr job = service_->board().Find(number);
      if (job != nullptr) phase = job->phase;
      if (job != nullptr && phase == to) {
        WaitForTurn(*service_);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return phase;
  }

  core::Cluster cluster_;
  PlainAdvisor advisor_{fixtures::MakePolicy("slot", {})};
  MemoryJobs jobs_;
  std::vector<RunRequest> found_;
  std::string uuid_ = "GPU-0";
  core::Limits limits_ = {.queued_jobs = 5};
  SeesStrangers monitor_;
  std::unique_ptr<HandRunner> runner_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, AJobIsStoredStartedAndItsEndIsKept) {
  const auto told = Submit({Job()});
  ASSERT_TRUE(told);
  EXPECT_EQ((*told)[0]->number, 1);
  EXPECT_NE((*told)[0]->phase, Phase::kWaiting);  // decided when the answer comes
  EXPECT_EQ((*told)[0]->gpus.at(0).uuid, "GPU-0");
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  service_->Stop();
  EXPECT_EQ(jobs_.jobs.at(1).phase, Phase::kFinished);
  EXPECT_EQ(jobs_.jobs.at(1).exit_code, 0);
  EXPECT_TRUE(runner_->forgotten.count({1, 1}));
  EXPECT_EQ(advisor_.learnt, std::vector<std::int64_t>{1});
}

TEST_F(ServiceTest, B3_WhatAUserUsedIsKnownThoughNoRecordIsLeft) {
  service_->Stop();
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  jobs_.kept["usage/" + kAnn.name] = ToText({5000, now});
  jobs_.kept["usage/damaged"] = "x";
  Restart();
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  service_->Stop();
  const auto used = KeptUsageFrom(jobs_.kept.at("usage/" + kAnn.name));
  ASSERT_TRUE(used);
  EXPECT_NEAR(used->gpu_seconds, 5000, 60);
  EXPECT_GE(used->at, now);
}

TEST_F(ServiceTest, AHeldJobStaysHeldWhileTheStoreCannotSayHowTheOneBeforeItEnded) {
  service_->Stop();
  core::JobRecord held;
  held.number = 7;
  held.user = kAnn;
  held.asked = Job();
  held.asked.after = {3};
  core::SetHold(held, core::hold::AfterJob{3});
  jobs_.jobs[7] = held;
  held.number = 8;
  held.asked.after = {4};
  core::SetHold(held, core::hold::AfterJob{4});
  jobs_.jobs[8] = held;
  jobs_.long_over = {{3, Phase::kFinished}, {4, Phase::kFailed}};
  jobs_.unreadable = true;
  Restart();
  for (const std::int64_t number : {7, 8}) {
    EXPECT_EQ(service_->board().Find(number)->phase, Phase::kHeld);
    EXPECT_EQ(service_->board().Find(number)->reason.rfind("waits for job", 0), 0U);
  }
  jobs_.unreadable = false;
  EXPECT_EQ(Comes(7, Phase::kRunning), Phase::kRunning) << "it is looked at again by itself";
  EXPECT_EQ(Comes(8, Phase::kCancelled), Phase::kCancelled);
}

// A neighbour's fault may have ended it: it is started once more, alone, and that end is its own.
TEST_F(ServiceTest, WhoFellWithOthersIsStartedAgainOnce) {
  const engine::Fall fall{{}, {{12, 1}}, {}};
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  runner_->End({1, 1}, 1, false, fall);
  for (int i = 0; i < 3000 && !runner_->Started({1, 2}); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  const JobPtr again = service_->board().Find(1);
  EXPECT_EQ(again->attempt, 2);
  EXPECT_EQ(again->ooms, 1) << "it is not put beside others any more";
  EXPECT_NE(again->note.find("the GPU broke under it and job 12"), std::string::npos);
  runner_->End({1, 2}, 1);
  EXPECT_EQ(Comes(1, Phase::kFailed), Phase::kFailed);

  core::Submission never = Job();
  never.requeue = false;
  ASSERT_TRUE(Submit({never}));
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
  runner_->End({2, 1}, 1, false, fall);
  EXPECT_EQ(Comes(2, Phase::kFailed), Phase::kFailed);
  EXPECT_NE(service_->board().Find(2)->note.find("job 12"), std::string::npos);
}

TEST_F(ServiceTest, WhatBrokeAGpuRunsAloneUntilOneOfItsKindHasFinishedWellAfterARestartToo) {
  ASSERT_TRUE(Submit({Job(), Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  runner_->End({1, 1}, 1, false,
               engine::Fall{engine::Fall::Part::kCulprit, {{12, 1}}, RunId{1, 1}});
  const auto note_of = [this](std::int64_t number) {
    WaitForTurn(*service_);
    return service_->board().Find(number)->note;
  };
  const auto alone = [&](std::int64_t number) {
    for (int i = 0; i < 3000 && note_of(number).empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return note_of(number).find("started alone: job 1") != std::string::npos;
  };
  EXPECT_TRUE(alone(2));
  EXPECT_TRUE(service_->board().Find(1)->broke_gpu);
  service_->Stop();
  for (auto& [number, job] : jobs_.jobs) {
    job.phase = number == 1 ? Phase::kFailed : Phase::kFinished;
    job.ended = 100 - number;  // the other one before it
  }
  Restart();
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_TRUE(alone(3));
  EXPECT_EQ(Comes(3, Phase::kRunning), Phase::kRunning);
  runner_->End({3, 1}, 0);
  EXPECT_EQ(Comes(3, Phase::kFinished), Phase::kFinished);
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(note_of(4), "");
}

// By number, not by the clock: what a start asks of the store does not grow with the queue.
TEST_F(ServiceTest, AStartWithManyWaitingJobsAsksTheStoreNoMoreThanOneWithFew) {
  const auto start_with = [this](int count) {
    service_->Stop();
    jobs_.jobs.clear();
    for (int i = 1; i <= count; ++i) {
      core::JobRecord record;
      record.number = i;
      record.user = kAnn;
      record.asked = Job();
      record.asked.after =
          i % 2 == 0 ? std::vector<std::int64_t>{100'000} : std::vector<std::int64_t>{};
      if (i % 2 == 0) core::SetHold(record, core::hold::AfterJob{100'000});
      jobs_.jobs[i] = record;
    }
    core::JobRecord first;
    first.number = 100'000;
    first.user = kAnn;
    first.asked = Job();
    first.asked.held = true;
    core::SetHold(first, core::hold::ByUser{});
    jobs_.jobs[first.number] = first;
    jobs_.reads = jobs_.writes = 0;
    Restart();
    EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
    EXPECT_EQ(service_->board().Counts().at(Phase::kHeld), static_cast<std::size_t>(count / 2 + 1));
    return std::pair(jobs_.reads.load(), jobs_.writes.load());
  };
  const auto few = start_with(10), many = start_with(20'000);
  EXPECT_EQ(many.first, few.first);
  EXPECT_LE(many.second, few.second + 2);
}

TEST_F(ServiceTest, OneWaitsForTheOtherAndSaysWhy) {
  ASSERT_TRUE(Submit({Job(), Job()}));
  const JobPtr second = service_->board().Find(2);
  EXPECT_EQ(second->phase, Phase::kWaiting);
  EXPECT_NE(second->reason.find("idle GPU"), std::string::npos) << second->reason;
  runner_->End({1, 1}, 3);
  EXPECT_EQ(Comes(1, Phase::kFailed), Phase::kFailed);
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
}

TEST_F(ServiceTest, WhatCannotBeStoredIsNotDone) {
  ASSERT_TRUE(Submit({Job()}));
  {
    const std::lock_guard lock(jobs_.mutex);
    jobs_.full = true;
  }
  const auto refused = Submit({Job(0)});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the disk is full"), std::string::npos);
  EXPECT_FALSE(Act(Action::kCancel, 1));
  runner_->End({1, 1}, 0);  // that happened all the same, and is stored once it can be
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  EXPECT_FALSE(service_->View().store_up);
  {
    const std::lock_guard lock(jobs_.mutex);
    EXPECT_EQ(jobs_.jobs.at(1).phase, Phase::kRunning);
    jobs_.full = false;
  }
  const auto next = Submit({Job(0)});
  ASSERT_TRUE(next);
  EXPECT_EQ((*next)[0]->number, 2);  // the refused one never had a number
  service_->Stop();
  EXPECT_EQ(jobs_.jobs.at(1).phase, Phase::kFinished);
}

TEST_F(ServiceTest, CancelEndsWhatRunsAndWhatWaits) {
  ASSERT_TRUE(Submit({Job(), Job(), Job()}));
  EXPECT_FALSE(Act(Action::kCancel, 2, kBob));
  ASSERT_TRUE(Act(Action::kCancel, 2));
  EXPECT_EQ(Comes(2, Phase::kCancelled), Phase::kCancelled);
  EXPECT_EQ(service_->board().Find(2)->note, "cancelled by ann");
  ASSERT_TRUE(Act(Action::kCancel, 1, kRoot));
  EXPECT_EQ(Comes(1, Phase::kCancelled), Phase::kCancelled);
  EXPECT_EQ(service_->board().Find(1)->note, "cancelled by root");
  EXPECT_EQ(Comes(3, Phase::kRunning), Phase::kRunning);
  EXPECT_FALSE(Act(Action::kCancel, 1));   // it is over
  EXPECT_FALSE(Act(Action::kCancel, 99));  // there is none
}

TEST_F(ServiceTest, WhoseTimeIsOverIsOnItsWayOutAndWhy) {
  core::Submission timed = Job();
  timed.time_limit = core::Seconds(90);
  ASSERT_TRUE(Submit({timed}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  runner_->Emit(engine::TimeLimitReached{{1, 1}});
  EXPECT_EQ(Comes(1, Phase::kStopping), Phase::kStopping);
  EXPECT_EQ(service_->board().Find(1)->reason, "its time limit (90 s) is over");
  engine::RunEnded end{{1, 1}};
  end.end.exit_code = 143;
  end.end.timed_out = true;
  runner_->Emit(end);
  EXPECT_EQ(Comes(1, Phase::kFailed), Phase::kFailed);
  EXPECT_EQ(service_->board().Find(1)->note, "its time limit (90 s) is over");
}

TEST_F(ServiceTest, AHeldJobWaitsForItsRelease) {
  core::Submission held = Job();
  held.held = true;
  ASSERT_TRUE(Submit({held}));  // answered though there is nothing to decide
  ASSERT_TRUE(Submit({Job(), Job()}));
  EXPECT_EQ(service_->board().Find(1)->phase, Phase::kHeld);
  ASSERT_TRUE(Act(Action::kHold, 3));
  runner_->End({2, 1}, 0);
  EXPECT_EQ(Comes(2, Phase::kFinished), Phase::kFinished);
  EXPECT_TRUE(runner_->RunsNothing());
  ASSERT_TRUE(Act(Action::kRelease, 3));
  EXPECT_EQ(Comes(3, Phase::kRunning), Phase::kRunning);
  ASSERT_TRUE(Act(Action::kRelease, 1));
  EXPECT_EQ(service_->board().Find(1)->phase, Phase::kWaiting);
  EXPECT_FALSE(Act(Action::kHold, 3));  // it runs
}

TEST_F(ServiceTest, AfterAnotherMeansAfterItHasFinishedWell) {
  core::Submission then = Job(0);
  then.after = {1};
  ASSERT_TRUE(Submit({Job(), then}));
  EXPECT_EQ(service_->board().Find(2)->phase, Phase::kHeld);
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
  then.after = {3};
  ASSERT_TRUE(Submit({Job(), then}));
  runner_->End({3, 1}, 1);
  EXPECT_EQ(Comes(4, Phase::kCancelled), Phase::kCancelled);
  EXPECT_FALSE(Submit({then}));  // it has failed already
  then.after = {77};
  EXPECT_FALSE(Submit({then}));
}

TEST_F(ServiceTest, ADrainedGpuTakesNoNewJobs) {
  EXPECT_FALSE(Drain(true, kAnn));
  ASSERT_TRUE(Submit({Job()}));
  ASSERT_TRUE(Drain(true));
  ASSERT_TRUE(Submit({Job()}));
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  EXPECT_EQ(service_->board().Find(2)->phase, Phase::kWaiting);
  Restart();  // it stays drained
  EXPECT_TRUE(service_->View().gpus.at(0).drained);
  ASSERT_TRUE(Submit({Job(0)}));
  EXPECT_EQ(service_->board().Find(2)->phase, Phase::kWaiting);
  ASSERT_TRUE(Drain(false));
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
}

TEST_F(ServiceTest, AGpuThatIsLostIsLikeADrainedOne) {
  runner_->Emit(engine::GpuLost{"GPU-0", "it has fallen off the bus"});
  for (int i = 0; i < 1000 && service_->View().gpus.at(0).problem.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(service_->board().Find(1)->phase, Phase::kWaiting);
  runner_->Emit(engine::GpuBack{"GPU-0"});
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
}

TEST_F(ServiceTest, AGpuThatStrangersKeepBusyTakesNoNewJobsUntilTheyStop) {
  monitor_.Set({{4242, "ann", core::GiB(2), true}});
  service_->LookAgain();
  ASSERT_TRUE(Submit({Job()}));
  JobPtr job = service_->board().Find(1);
  EXPECT_EQ(job->phase, Phase::kWaiting);
  EXPECT_NE(job->reason.find("GPU 0 is kept busy by other processes: 2.0 GiB, pid 4242 of ann"),
            std::string::npos)
      << job->reason;
  EXPECT_EQ(service_->View().gpus.at(0).strangers.size(), 1U);
  EXPECT_FALSE(service_->View().gpus.at(0).usable());
  monitor_.Set({{4242, "ann", core::GiB(2), false}});
  service_->LookAgain();
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning) << "idle, it only holds memory";
  monitor_.Set({});
  service_->LookAgain();
  for (int i = 0; i < 1000 && !service_->View().gpus.at(0).strangers.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(service_->View().gpus.at(0).strangers.empty());
}

TEST_F(ServiceTest, NoJobIsPlacedWhereItsMemoryDoesNotFitBesideAStranger) {
  advisor_.believe = [](const core::JobRecord&, core::Estimate& estimate) {
    estimate.gpu_memory_upper = core::GiB(1);
    estimate.on[0].demand.known = true;
  };
  monitor_.Set({{4242, "ann", core::GiB(15.9), false}});
  service_->LookAgain();
  ASSERT_TRUE(Submit({Job()}));
  const JobPtr job = service_->board().Find(1);
  EXPECT_EQ(job->phase, Phase::kWaiting);
  EXPECT_NE(job->reason.find("more memory than is free"), std::string::npos) << job->reason;
  EXPECT_NE(job->reason.find("GPU 0 has other processes: 15.9 GiB, pid 4242 of ann"),
            std::string::npos)
      << job->reason;
  monitor_.Set({});
  service_->LookAgain();
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning) << "it has gone";
}

// One GPU, 16 cores, 64 GiB and 20 GB/s; CPU-only jobs move 20 GB/s each, training jobs 10.
class HostTest : public ServiceTest {
 protected:
  HostTest() {
    service_.reset();  // it reads the cluster
    cluster_ = fixtures::ClusterBuilder().Node(1).Cores(16).Memory(64).MemoryBandwidth(20).Build();
    advisor_.believe = [](const core::JobRecord& record, core::Estimate& estimate) {
      estimate.on[0].demand.host_bandwidth = core::GBps(record.asked.gpus == 0 ? 20 : 10);
      estimate.on[0].demand.cpu_cores = 1;
    };
    policy_ = fixtures::MakePolicy("fifo+slim", {});
    advisor_.Follow(*policy_);
    Restart();
  }
  ~HostTest() override { service_.reset(); }  // before its policy goes
  bool Comes(RunId run, core::Ratio share) {
    for (int i = 0; i < 3000 && runner_->ShareOf(run) != share; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return runner_->ShareOf(run) == share;
  }
  std::unique_ptr<policy::Policy> policy_;
};

TEST_F(HostTest, CpuOnlyJobsAreSlowedForATrainingJobAndLetLooseAfterIt) {
  core::Submission cpu = Job(0);
  cpu.cores = 2;
  ASSERT_TRUE(Submit({cpu}));
  ASSERT_EQ(ServiceTest::Comes(1, Phase::kRunning), Phase::kRunning);
  EXPECT_EQ(runner_->ShareOf({1, 1}), 1);
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_TRUE(Comes({1, 1}, 0.5));
  const JobPtr slowed = service_->board().Find(1);
  EXPECT_EQ(slowed->phase, Phase::kRunning) << "it is not stopped";
  EXPECT_NE(slowed->reason.find("starved; it has 50 % of its CPU time"), std::string::npos)
      << slowed->reason;
  runner_->End({2, 1}, 0);
  EXPECT_TRUE(Comes({1, 1}, 1));
}

TEST_F(HostTest, HostMemoryIsReservedAndAWaitNamesWhoHasIt) {
  core::Submission large = Job(0);
  large.memory = core::GiB(40);
  ASSERT_TRUE(Submit({large, large}));
  EXPECT_EQ(ServiceTest::Comes(1, Phase::kRunning), Phase::kRunning);
  const JobPtr second = service_->board().Find(2);
  EXPECT_EQ(second->phase, Phase::kWaiting);
  EXPECT_EQ(second->reason,
            "no node has 40.0 GiB of host memory free; the most is 24.0 GiB: job 1 of ann has "
            "40.0 GiB");
  runner_->End({1, 1}, 0);
  EXPECT_EQ(ServiceTest::Comes(2, Phase::kRunning), Phase::kRunning);
}

TEST_F(ServiceTest, AfterARestartRunsAreFoundAgainAndTheLostOnesQueued) {
  core::Submission never = Job(0);
  never.requeue = false;
  ASSERT_TRUE(Submit({Job(), Job(), Job(0), never}));
  EXPECT_EQ(Comes(4, Phase::kRunning), Phase::kRunning);
  EXPECT_EQ(Comes(3, Phase::kRunning), Phase::kRunning);
  RunRequest run;
  run.id = {1, 1};
  run.gpus = {{0, "GPU-0", "V100"}};
  run.asked = Job();
  found_ = {run};
  Restart();
  EXPECT_EQ(service_->board().Find(1)->phase, Phase::kRunning);
  EXPECT_EQ(Comes(3, Phase::kRunning), Phase::kRunning);
  EXPECT_TRUE(runner_->Started({3, 2}));  // a second attempt, not the first again
  EXPECT_EQ(Comes(4, Phase::kFailed), Phase::kFailed);
  EXPECT_EQ(service_->board().Find(2)->phase, Phase::kWaiting);
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
  EXPECT_FALSE(runner_->Started({1, 2}));
}

// Notes what it is shown of those that run, and decides nothing.
class WatchingPolicy : public policy::Policy {
 public:
  explicit WatchingPolicy(std::vector<core::Allocation>& seen) : seen_(seen) {}
  const std::string& Name() const override { return name_; }
  std::unique_ptr<policy::Memo> NewMemo() const override {
    return std::make_unique<policy::Memo>();
  }
  core::Plan Decide(const core::Snapshot& snapshot, std::span<const core::Change>,
                    policy::Memo&) const override {
    for (const core::JobId id : snapshot.running()) seen_.push_back(snapshot.job(id).allocation);
    return {};
  }

 private:
  std::string name_ = "watching";
  std::vector<core::Allocation>& seen_;
};

TEST_F(ServiceTest, AfterARestartTheSharesOfTheSmsAreKnown) {
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  service_->Stop();
  service_.reset();
  HandRunner runner;
  RunRequest run;
  run.id = {1, 1};
  run.gpus = {{0, "GPU-0", "V100"}};
  run.asked = Job();
  run.thread_share = 0.6;  // as it was started
  run.guest_memory = core::GiB(31);
  runner.found = {run};
  runner.running.insert(run.id);
  std::vector<core::Allocation> seen;
  PlainAdvisor advisor(std::make_unique<WatchingPolicy>(seen));
  GpuView gpu;
  gpu.gpu = {0, "GPU-0", "V100"};
  service_ = std::make_unique<Service>(cluster_, std::vector<GpuView>{gpu}, runner, advisor, jobs_,
                                       ServiceOptions{});
  ASSERT_TRUE(service_->Start());
  ASSERT_TRUE(Submit({Job()}));  // and is decided on
  service_->Stop();
  service_.reset();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().sm_share, 0.6);
  EXPECT_EQ(seen.back().guest_memory, core::GiB(31));
}

TEST_F(ServiceTest, AShareThatItsUserInsistsOnIsGivenAndTold) {
  core::Submission job = Job();
  job.sm_share = 0.6;
  const auto told = Submit({job});
  ASSERT_TRUE(told);
  EXPECT_EQ((*told)[0]->sm_share, 0.6);
  EXPECT_NE((*told)[0]->reason.find("at most 60 % of the SMs, as its user asked"),
            std::string::npos);
}

TEST_F(ServiceTest, F1_AJobThatSomebodyElseWroteIsHeldUntilRootReleasesIt) {
  ASSERT_TRUE(Submit({Job(), Job(), Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  service_->Stop();
  for (auto& [number, job] : jobs_.jobs) {
    job.user = {"root", 0, 0, true};
    job.untrusted = true;
  }
  // The first one runs: its folder, which is root's, says whose it is.
  RunRequest run;
  run.id = {1, 1};
  run.user = kAnn;
  run.asked = Job();
  found_ = {run};
  Restart();
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  EXPECT_EQ(service_->board().Find(1)->user, kAnn);
  EXPECT_EQ(service_->board().Find(2)->phase, Phase::kHeld);
  const core::Account admin{"eve", 1002, 1002, true};
  EXPECT_FALSE(Act(Action::kRelease, 2, kAnn));
  EXPECT_FALSE(Act(Action::kRelease, 2, admin));
  EXPECT_TRUE(Act(Action::kCancel, 2, admin));
  ASSERT_TRUE(Act(Action::kRelease, 3, kRoot));
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(3, Phase::kRunning), Phase::kRunning);
  service_->Stop();
  EXPECT_FALSE(jobs_.jobs.at(1).untrusted);
  EXPECT_FALSE(jobs_.jobs.at(3).untrusted);
}

TEST_F(ServiceTest, WhatIsLeftOfAJobThatWasOverGoesAtOnce) {
  ASSERT_TRUE(Submit({Job(0)}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  RunRequest left;  // by a server that was killed before it had removed the folder
  left.id = {1, 1};
  found_ = {left};
  Restart();
  EXPECT_TRUE(runner_->forgotten.contains({1, 1}));
  EXPECT_EQ(service_->board().Find(1)->phase, Phase::kFinished);
}

TEST_F(ServiceTest, WhoseGpuIsGoneAfterARestartRunsOn) {
  ASSERT_TRUE(Submit({Job(), Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  RunRequest run;
  run.id = {1, 1};
  run.gpus = {{0, "GPU-0", "V100"}};
  run.asked = Job();
  found_ = {run};
  uuid_ = "GPU-9";
  advisor_.most = 0;  // what waits does not fit any more
  Restart();
  EXPECT_EQ(service_->board().Find(1)->phase, Phase::kRunning);
  EXPECT_EQ(service_->board().Find(2)->phase, Phase::kHeld);
  EXPECT_EQ(service_->board().Find(2)->hold,
            core::Hold(core::hold::MachineChanged{"there are not so many GPUs"}));
  EXPECT_TRUE(service_->board().Find(1)->gpu_gone);
  EXPECT_TRUE(runner_->Running({1, 1}));
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  advisor_.most = 8;
  ASSERT_TRUE(Act(Action::kRelease, 2));
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
}

// A server was killed right after it had stored the wish. What somebody else took over is not ours
// to end.
TEST_F(ServiceTest, TheNextServerEndsWhatItsUserCancelledAndNotWhatTheManagerDid) {
  for (const core::Cancelled& by : std::initializer_list<core::Cancelled>{
           core::cancelled::ByUser{"ann"}, core::cancelled::ByManager{"cancelled by an admin"}}) {
    service_->Stop();
    core::JobRecord job;
    job.number = 1;
    job.user = kAnn;
    job.asked = Job();
    job.attempt = 1;
    job.phase = Phase::kStopping;
    job.gpus = {{0, "GPU-0", "V100"}};
    job.cancelled = by;
    job.reason = core::InWords(by);
    jobs_.jobs[1] = store::JobFromJson(store::JobToJson(job)).value();
    RunRequest run;
    run.id = {1, 1};
    run.gpus = job.gpus;
    run.asked = Job();
    found_ = {run};
    Restart();
    if (by.index() != 0) {
      WaitForTurn(*service_);
      EXPECT_TRUE(runner_->Running({1, 1}));
      runner_->End({1, 1}, 143);
    }
    EXPECT_EQ(Comes(1, Phase::kCancelled), Phase::kCancelled);
    EXPECT_EQ(service_->board().Find(1)->note, core::InWords(by));
  }
}

TEST_F(ServiceTest, AMoveThatWasCutShortGoesOnFromTheQueue) {
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  service_->Stop();
  jobs_.jobs.at(1).attempt = 2;  // decided and stored; the server was killed before it was done
  jobs_.jobs.at(1).phase = Phase::kStarting;
  RunRequest run;
  run.id = {1, 1};
  run.gpus = {{0, "GPU-0", "V100"}};
  run.asked = Job();
  found_ = {run};
  Restart();
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  EXPECT_FALSE(runner_->Running({1, 1}));  // told to end before the next began
  EXPECT_TRUE(runner_->Running({1, 3}));
}

TEST_F(ServiceTest, WhoComesAfterOneThatFailedGoesWithItAndSoOn) {
  core::Submission second = Job(0), third = Job(0);
  second.after = {1};
  third.after = {2};
  ASSERT_TRUE(Submit({Job(), second, third}));
  runner_->End({1, 1}, 1);
  EXPECT_EQ(Comes(3, Phase::kCancelled), Phase::kCancelled);
  service_->Stop();
  EXPECT_EQ(jobs_.jobs.at(2).phase, Phase::kCancelled);
  EXPECT_EQ(jobs_.jobs.at(3).phase, Phase::kCancelled);
}

TEST_F(ServiceTest, AskedToEndBySomebodyElseItIsQueuedAgain) {
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  engine::RunEnded end{{1, 1}};
  end.end.stopped = true;  // a machine that is shut down; it saved its work and left with 0
  runner_->Emit(end);
  for (int i = 0; i < 1000 && !runner_->Started({1, 2}); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
}

TEST_F(ServiceTest, OutOfMemoryIsTriedOnceMore) {
  ASSERT_TRUE(Submit({Job()}));
  runner_->End({1, 1}, 1, true);
  for (int i = 0; i < 1000 && !runner_->Started({1, 2}); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  EXPECT_EQ(service_->board().Find(1)->ooms, 1);
  runner_->End({1, 2}, 1, true);
  EXPECT_EQ(Comes(1, Phase::kFailed), Phase::kFailed);
}

TEST_F(ServiceTest, OneUserCannotFillTheQueue) {
  EXPECT_FALSE(Submit(std::vector<core::Submission>(6, Job())));
  ASSERT_TRUE(Submit(std::vector<core::Submission>(5, Job())));
  EXPECT_FALSE(Submit({Job()}));
  EXPECT_TRUE(Submit({Job()}, kBob));
  EXPECT_FALSE(Submit({Job(9)}, kBob));
  EXPECT_FALSE(Submit({}, kBob));
}

TEST_F(ServiceTest, F10_AJobUnderWhichTheMachineGoesDownIsHeldAfterThreeTimes) {
  ASSERT_TRUE(Submit({Job()}));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    for (int i = 0; i < 3000 && !runner_->Started({1, attempt}); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    engine::RunEnded end{{1, attempt}};
    end.end.lost = true;
    runner_->Emit(end);
  }
  EXPECT_EQ(Comes(1, Phase::kHeld), Phase::kHeld);
  Restart();
  EXPECT_NE(service_->board().Find(1)->reason.find("`sharewell release 1`"), std::string::npos);
  ASSERT_TRUE(Act(Action::kRelease, 1));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  EXPECT_EQ(service_->board().Find(1)->lost, 0);
}

TEST_F(ServiceTest, F26_AGpuThatIsBackAfterARestartIsNotSaidToBeGone) {
  ASSERT_TRUE(Submit({Job()}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  RunRequest run;
  run.id = {1, 1};
  run.gpus = {{0, "GPU-0", "V100"}};
  run.asked = Job();
  found_ = {run};
  uuid_ = "GPU-9";
  Restart();
  EXPECT_EQ(service_->board().Find(1)->note, "its GPU is not here any more; it runs on");
  uuid_ = "GPU-0";
  Restart();
  EXPECT_EQ(service_->board().Find(1)->note, "");
  EXPECT_EQ(service_->View().gpus.at(0).jobs, std::vector<std::int64_t>{1});
}

TEST_F(ServiceTest, AnEndThatCouldNotBeStoredIsStoredThoughNothingElseHappens) {
  ASSERT_TRUE(Submit({Job(0)}));
  EXPECT_EQ(Comes(1, Phase::kRunning), Phase::kRunning);
  {
    const std::lock_guard lock(jobs_.mutex);
    jobs_.full = true;
  }
  runner_->End({1, 1}, 0);
  EXPECT_EQ(Comes(1, Phase::kFinished), Phase::kFinished);
  EXPECT_NE(ProblemOf(service_->View()).find("the disk is full"), std::string::npos);
  core::Submission then = Job(0);
  then.after = {1};
  EXPECT_FALSE(Submit({then}));
  {
    const std::lock_guard lock(jobs_.mutex);
    jobs_.full = false;
  }
  ASSERT_TRUE(Submit({then}));  // in the window where the end is not stored yet
  EXPECT_EQ(Comes(2, Phase::kRunning), Phase::kRunning);
  EXPECT_EQ(ProblemOf(service_->View()), "");
  const std::lock_guard lock(jobs_.mutex);
  EXPECT_EQ(jobs_.jobs.at(1).phase, Phase::kFinished);
}

TEST_F(ServiceTest, AGpuWithAsManyJobsAsCanBeIsDrained) {
  service_->Stop();
  found_.clear();
  for (std::int64_t number = 1; number <= core::kMaxJobsOnGpu + 1; ++number) {
    core::JobRecord record;
    record.number = number;
    record.user = kAnn;
    record.asked = Job();
    record.phase = Phase::kRunning;
    record.attempt = 1;
    record.gpus = {{0, "GPU-0", "V100"}};
    jobs_.jobs[number] = record;
    RunRequest run;
    run.id = {number, 1};
    run.gpus = record.gpus;
    run.shares = true;
    found_.push_back(run);
  }
  Restart();
  ASSERT_TRUE(Drain(true));
  ASSERT_TRUE(Submit({Job()}, kBob));
  ASSERT_TRUE(Act(Action::kCancel, 1));
  EXPECT_EQ(Comes(1, Phase::kCancelled), Phase::kCancelled);
  EXPECT_EQ(service_->board().Find(10)->phase, Phase::kWaiting);
  EXPECT_EQ(service_->View().gpus.at(0).jobs.size(), 7U);
}

}  // namespace
}  // namespace sharewell::control
