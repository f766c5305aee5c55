// Holds that are not ours, and what arrays and singletons wait for, on a cluster that is played.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/slurm/control/slurm_control.h"
#include "testing/fake_slurm.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeSlurm;
using fixtures::FakeSlurmRunner;
using fixtures::FirstOf;
using fixtures::NamesOf;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SlurmControlHoldTest : public ::testing::Test {
 protected:
  SlurmControlHoldTest() {
    slurm_.AddNode("n1", 2, "V100");
    slurm_.AddNode("n2", 2, "V100");
    runner_ = std::make_unique<FakeSlurmRunner>(slurm_, false);
    SHAREWELL_CHECK(runner_->control.Open().has_value());
    (void)runner_->Recover();
  }
  static RunRequest Request(std::int64_t job, const std::string& gpu, int attempt = 1) {
    RunRequest request;
    request.id = {job, attempt};
    request.nodes = {gpu.substr(0, gpu.find('/'))};
    request.gpus = {{0, gpu, "V100"}};
    request.cores = 1;
    return request;
  }
  std::vector<RunEvent> Hear(double seconds) { return runner_->Hear(Seconds(seconds)); }
  // Slurm puts it back into its queue, and holds it.
  void HoldAs(std::int64_t job, const std::string& reason) {
    SlurmJob& slurm = slurm_.job(job);
    slurm.phase = SlurmPhase::kPending;
    slurm.phase_word = "PENDING";
    slurm.priority = 0;
    slurm.reason = reason;
    slurm.nodes.clear();
    ++slurm.restarts;
  }

  FakeSlurm slurm_;
  std::unique_ptr<FakeSlurmRunner> runner_;
};

// S1
TEST_F(SlurmControlHoldTest, AnAdminsHoldStaysAndTheTermsSayWhoseItIs) {
  const auto job = slurm_.Submit(1, {Seconds(5)});
  Hear(2);
  slurm_.Do(fmt::format("hold {}", job));
  const auto told = Hear(3);
  EXPECT_EQ(NamesOf(told, job), NamesOf<TermsChanged>());
  EXPECT_THAT(FirstOf<TermsChanged>(told).terms.waits_for,
              AllOf(HasSubstr("an admin of Slurm holds it"),
                    HasSubstr(fmt::format("`scontrol release {}`", job))));
  runner_->Start(Request(job, "n1/g0"));  // it was decided before
  EXPECT_THAT(FirstOf<StartRefused>(Hear(3)).why, HasSubstr("an admin of Slurm holds it"));
  EXPECT_EQ(slurm_.job(job).reason, "JobHeldAdmin");
  slurm_.Do(fmt::format("uhold {}", job));
  EXPECT_EQ(FirstOf<TermsChanged>(Hear(3)).terms, StartTerms());
  runner_->Start(Request(job, "n1/g0", 2));
  EXPECT_EQ(NamesOf(Hear(20), job), (NamesOf<RunStarted, RunEnded>()));
}

TEST_F(SlurmControlHoldTest, AJobThatIsNewAndHeldByAnAdminIsToldWithThat) {
  const auto job = slurm_.Submit(1, {}, [](SlurmJob& one) { one.reason = "JobHeldAdmin"; });
  const auto told = Hear(3);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobSubmitted>());
  EXPECT_THAT(FirstOf<JobSubmitted>(told).as.terms.waits_for, HasSubstr("an admin of Slurm"));
}

// S1: a Prolog that fails, an exit code after which Slurm holds, an admin's requeuehold.
TEST_F(SlurmControlHoldTest, WhatSlurmHoldsAfterItWasReleasedOrRanIsNotPlacedAgain) {
  for (const char* reason :
       {"launch failed requeued held", "SPECIAL_EXIT", "job requeued in held state"}) {
    const auto job = slurm_.Submit(1, {Seconds(500)});
    Hear(2);
    runner_->Start(Request(job, "n1/g0"));
    Hear(4);
    ASSERT_EQ(slurm_.job(job).phase, SlurmPhase::kRunning);
    slurm_.log.clear();
    HoldAs(job, reason);
    const auto told = Hear(5);
    EXPECT_EQ(NamesOf(told, job), (NamesOf<TermsChanged, RunEnded>())) << reason;
    EXPECT_TRUE(FirstOf<RunEnded>(told).end.stopped);
    EXPECT_THAT(FirstOf<TermsChanged>(told).terms.waits_for, HasSubstr("it was on n1"));
    EXPECT_THAT(slurm_.log, IsEmpty()) << "nothing of it is touched";
    EXPECT_EQ(slurm_.job(job).reason, reason);
  }
}

TEST_F(SlurmControlHoldTest, WhatSlurmCouldNotLaunchIsRefusedWithItsNode) {
  slurm_.starts_jobs = false;
  const auto job = slurm_.Submit(1);
  Hear(2);
  runner_->Start(Request(job, "n2/g0"));
  Hear(2);
  HoldAs(job, "launch failed requeued held");
  const auto told = Hear(3);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<TermsChanged, StartRefused>()));
  EXPECT_THAT(FirstOf<StartRefused>(told).why,
              AllOf(HasSubstr("could not launch it"), HasSubstr("it was on n2")));
}

TEST_F(SlurmControlHoldTest, AStopOfOursLeavesAHoldOfOurs) {
  const auto job = slurm_.Submit(1, {Seconds(20)});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(3);
  runner_->Stop({job, 1}, {Seconds(5)});
  Hear(6);
  EXPECT_THAT(slurm_.log, Contains(fmt::format("requeue {}", job)));
  EXPECT_THAT(slurm_.log, Not(Contains(HasSubstr("requeuehold"))));
  EXPECT_EQ(slurm_.job(job).reason, "JobHeldUser");
}

// S12
TEST_F(SlurmControlHoldTest, WhatAnAdminReleasesRunsWithoutUs) {
  const auto job = slurm_.Submit(1, {Seconds(20)});
  Hear(2);
  slurm_.starts_jobs = false;
  slurm_.Do(fmt::format("release {}", job));
  const auto told = Hear(3);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobWithdrawn>());
  EXPECT_EQ(FirstOf<JobWithdrawn>(told).why,
            "an admin released it: it runs with what it asked for, without Sharewell");
}

// S14
TEST_F(SlurmControlHoldTest, ALimitOfAnArrayThatChangesIsTold) {
  const auto task = [&](int number) {
    return slurm_.Submit(1, {Seconds(50)}, [&](SlurmJob& one) {
      one.array = 90;
      one.array_task = number;
      one.array_at_once = 1;
    });
  };
  const auto first = task(0), second = task(1);
  const auto told = Hear(7);
  EXPECT_EQ(FirstOf<TermsChanged>(told).terms.array_at_once, 1);
  slurm_.job(first).array_at_once = slurm_.job(second).array_at_once = 2;
  const auto later = Hear(8);
  EXPECT_EQ(NamesOf(later, first), NamesOf<TermsChanged>());
  EXPECT_EQ(NamesOf(later, second), NamesOf<TermsChanged>());
  EXPECT_EQ(FirstOf<TermsChanged>(later).terms.array_at_once, 2);
}

// S13
TEST_F(SlurmControlHoldTest, AQosThatPreemptsComesInAsARank) {
  slurm_.preemption.lists = {{"urgent", {"low"}}};
  Hear(61);
  const auto urgent = slurm_.Submit(1, {}, [](SlurmJob& one) { one.qos = "urgent"; });
  const auto told = Hear(2);
  ASSERT_EQ(NamesOf(told, urgent), NamesOf<JobSubmitted>());
  const StartTerms& terms = FirstOf<JobSubmitted>(told).as.terms;
  EXPECT_EQ(terms.priority, 1);
  EXPECT_TRUE(terms.preempts);
  EXPECT_TRUE(terms.keeps_place);
  slurm_.Submit(1, {}, [](SlurmJob& one) { one.qos = "low"; });
  EXPECT_FALSE(FirstOf<JobSubmitted>(Hear(2)).as.terms.keeps_place);
}

TEST_F(SlurmControlHoldTest, ASingletonWaitsForTheOneBeforeItAndNoLonger) {
  const auto singleton = [](SlurmJob& one) { one.dependency = "singleton(unfulfilled)"; };
  const auto first = slurm_.Submit(1, {Seconds(5)}, singleton);
  const auto second = slurm_.Submit(1, {Seconds(5)}, singleton);
  const auto told = Hear(2);
  ASSERT_EQ(NamesOf(told), (NamesOf<JobSubmitted, JobSubmitted>()));
  EXPECT_EQ(std::get<JobSubmitted>(told[0]).as.terms, StartTerms());
  EXPECT_THAT(std::get<JobSubmitted>(told[1]).as.terms.waits_for,
              HasSubstr(fmt::format("afterany:{}(singleton)", first)));
  runner_->Start(Request(first, "n1/g0"));
  const auto later = Hear(12);
  EXPECT_EQ(NamesOf(later, second), NamesOf<TermsChanged>());
  EXPECT_EQ(FirstOf<TermsChanged>(later).terms, StartTerms());
}

}  // namespace
}  // namespace sharewell::engine
