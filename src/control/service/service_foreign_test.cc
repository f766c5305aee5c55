// The service over a Slurm cluster that is played: jobs of its users under its own ids, from sbatch
// to their end, cancelled on either side, and found again by the next server.
#include <gmock/gmock.h>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/fake_slurm.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using core::Seconds;
using engine::SlurmPhase;
using fixtures::FakeSlurm;
using fixtures::FakeSlurmRunner;
using ::testing::HasSubstr;

class ServiceForeignTest : public ::testing::Test {
 protected:
  ServiceForeignTest() {
    slurm_.AddNode("n0", 2, "A");
    Begin();
  }
  // A server; one before it was killed.
  void Begin() {
    service_.reset();
    // What is not stored is not known to the next one.
    for (auto& [number, job] : jobs_.jobs) job = store::JobFromJson(store::JobToJson(job)).value();
    runner_ = std::make_unique<FakeSlurmRunner>(slurm_, false);
    runner_->list_every = Seconds(30);
    ASSERT_TRUE(runner_->control.Open());
    cluster_ = fixtures::ClusterBuilder().Model("A").Node(2).Cores(16).Build();
    std::vector<GpuView> gpus(2);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].gpu = runner_->control.Nodes().at(0).gpus.at(i);
    }
    ServiceOptions options;
    options.no_submissions = "submit with sbatch";
    options.foreign_queue = runner_.get();
    service_ = std::make_unique<Service>(cluster_, gpus, *runner_, advisor_, jobs_, options);
    ASSERT_TRUE(service_->Open());
  }
  template <class So>
  bool Comes(So so, double within = 120) {
    const Seconds until = slurm_.now() + Seconds(within);
    while (!so() && slurm_.now() < until && service_->Turn()) {
    }
    return so();
  }
  bool Is(std::int64_t number, Phase phase) {
    const JobPtr job = service_->board().Find(number);
    return job != nullptr && job->phase == phase;
  }
  void Act(Action action, std::int64_t number, const core::Account& who = kAnn) {
    service_->Act(action, number, who, [](const core::Result<JobPtr>& told) {
      EXPECT_TRUE(told) << (told ? "" : told.error().message);
    });
    service_->Turn();
  }

  FakeSlurm slurm_;
  core::Cluster cluster_;
  PlainAdvisor advisor_{fixtures::MakePolicy("slot", {})};
  MemoryJobs jobs_;
  std::unique_ptr<FakeSlurmRunner> runner_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceForeignTest, AJobOfSlurmRunsUnderItsOwnIdAndIsStored) {
  slurm_.SubmitAs(4711, 1, {Seconds(5), 3}, 1);
  ASSERT_TRUE(Comes([&] { return Is(4711, Phase::kRunning); }));
  EXPECT_EQ(jobs_.jobs.at(4711).user, kAnn);
  EXPECT_EQ(jobs_.jobs.at(4711).gpus.at(0).uuid, "n0/g0");
  ASSERT_TRUE(Comes([&] { return Is(4711, Phase::kFailed); }));
  EXPECT_EQ(jobs_.jobs.at(4711).exit_code, 3);
  EXPECT_EQ(slurm_.wrong, "");
}

TEST_F(ServiceForeignTest, A3_WhatIsLearntIsOfTheUserThatSlurmNames) {
  slurm_.SubmitAs(4711, 1, {Seconds(5), 0}, 1);
  ASSERT_TRUE(Comes([&] { return Is(4711, Phase::kFinished); }));
  EXPECT_EQ(advisor_.needs_asked_for, std::set<std::string>{kAnn.name});
  EXPECT_TRUE(jobs_.kept.contains("usage/" + kAnn.name)) << "B3";
}

TEST_F(ServiceForeignTest, NobodySubmitsHere) {
  std::string said;
  service_->Submit({core::Submission()}, kAnn, [&](const core::Result<std::vector<JobPtr>>& told) {
    said = told ? "" : told.error().message;
  });
  EXPECT_EQ(said, "submit with sbatch");
}

TEST_F(ServiceForeignTest, WhatCanNeverRunHereIsHeldAndSaysWhy) {
  const auto job = slurm_.Submit(9);
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kHeld); }));
  EXPECT_THAT(service_->board().Find(job)->reason, HasSubstr("not so many GPUs"));
  Act(Action::kHold, job);
  EXPECT_EQ(service_->board().Find(job)->hold, core::Hold(core::hold::ByUser{}));
  EXPECT_EQ(slurm_.starts[job], 0);
}

TEST_F(ServiceForeignTest, AStoreThatFailsLosesNoJob) {
  jobs_.full = true;
  const auto job = slurm_.Submit(1, {Seconds(5)});
  EXPECT_FALSE(Comes([&] { return Is(job, Phase::kRunning); }, 20));
  EXPECT_EQ(slurm_.starts[job], 0);
  jobs_.full = false;
  EXPECT_TRUE(Comes([&] { return Is(job, Phase::kFinished); }));
}

TEST_F(ServiceForeignTest, CancelledHereItIsCancelledThereEvenByTheNextServer) {
  slurm_.Submit(2, {Seconds(1000)});
  const auto waits = slurm_.Submit(1);
  ASSERT_TRUE(Comes([&] { return Is(waits, Phase::kWaiting); }));
  slurm_.chance_of_fault = 1;  // it does not hear of it
  Act(Action::kCancel, waits);
  EXPECT_TRUE(Is(waits, Phase::kCancelled));
  slurm_.chance_of_fault = 0;
  EXPECT_EQ(slurm_.job(waits).phase, SlurmPhase::kPending);
  Begin();
  EXPECT_TRUE(Comes([&] { return slurm_.job(waits).phase == SlurmPhase::kCancelled; }));
  EXPECT_EQ(slurm_.starts[waits], 0);
}

TEST_F(ServiceForeignTest, CancelledBetweenTheDecisionAndItsStartItIsCancelledThere) {
  slurm_.chance_of_fault = 0;
  const auto job = slurm_.Submit(1);
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kStarting); }));
  Act(Action::kCancel, job);
  EXPECT_TRUE(Comes([&] { return Is(job, Phase::kCancelled); }));
  EXPECT_TRUE(Comes([&] { return slurm_.job(job).phase == SlurmPhase::kCancelled; }));
}

TEST_F(ServiceForeignTest, CancelledThereItIsCancelledHere) {
  const auto runs = slurm_.Submit(2, {Seconds(1000)}), waits = slurm_.Submit(1);
  ASSERT_TRUE(Comes([&] { return Is(runs, Phase::kRunning) && Is(waits, Phase::kWaiting); }));
  (void)slurm_.Cancel({std::to_string(runs), std::to_string(waits)});
  ASSERT_TRUE(Comes([&] { return Is(runs, Phase::kCancelled) && Is(waits, Phase::kCancelled); }));
  EXPECT_THAT(service_->board().Find(waits)->note, HasSubstr("cancelled in Slurm"));
  const auto next = slurm_.Submit(2, {Seconds(5)});
  EXPECT_TRUE(Comes([&] { return Is(next, Phase::kFinished); })) << "their places are free";
}

TEST_F(ServiceForeignTest, TheNextServerGoesOnWithWhatRunsWaitsAndEnded) {
  const auto runs = slurm_.Submit(1, {Seconds(100)}), ends = slurm_.Submit(1, {Seconds(20)}),
             waits = slurm_.Submit(2, {Seconds(5)}), gone = slurm_.Submit(2);
  ASSERT_TRUE(Comes([&] { return Is(runs, Phase::kRunning) && Is(gone, Phase::kWaiting); }));
  slurm_.Advance(slurm_.now() + Seconds(30));
  slurm_.Purge(gone);
  Begin();
  ASSERT_TRUE(Comes([&] { return Is(ends, Phase::kFinished); }, 10));
  EXPECT_TRUE(Is(runs, Phase::kRunning));
  EXPECT_TRUE(Comes([&] { return Is(gone, Phase::kCancelled); }, 10));
  ASSERT_TRUE(Comes([&] { return Is(waits, Phase::kFinished) && Is(runs, Phase::kFinished); }));
  for (const auto job : {runs, ends, waits}) EXPECT_EQ(slurm_.starts[job], 1);
}

TEST_F(ServiceForeignTest, AServerWithAnEmptyStoreTakesOverWhatRuns) {
  const auto job = slurm_.Submit(1, {Seconds(60)});
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kRunning); }));
  jobs_.jobs.clear();
  jobs_.last_event = 0;
  Begin();
  EXPECT_TRUE(Is(job, Phase::kRunning));
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kFinished); }));
  EXPECT_EQ(slurm_.starts[job], 1);
}

TEST_F(ServiceForeignTest, AGpuOfAnothersJobIsNotGiven) {
  slurm_.Submit(1, {Seconds(50)}, [](engine::SlurmJob& other) {
    other.admin_comment.clear();
    other.phase = SlurmPhase::kRunning;
    other.priority = 1;
    other.nodes = {"n0"};
    other.slots = {{"g0", 100}};
  });
  ASSERT_TRUE(Comes([&] { return !service_->View().gpus.at(0).problem.empty(); }, 10));
  const auto job = slurm_.Submit(1, {Seconds(5)});
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kRunning); }));
  EXPECT_EQ(service_->board().Find(job)->gpus.at(0).uuid, "n0/g1");
}

TEST_F(ServiceForeignTest, CoresOfAnothersJobAreNotGiven) {
  const auto cpus = [](int count) {
    return [count](engine::SlurmJob& one) { one.cpus = one.cpus_a_node = count; };
  };
  slurm_.Submit(0, {Seconds(40)}, [](engine::SlurmJob& other) {
    other.admin_comment.clear();
    other.phase = SlurmPhase::kRunning;
    other.priority = 1;
    other.nodes = {"n0"};
    other.cpus = 10;
  });
  const auto small = slurm_.Submit(1, {Seconds(5)}, cpus(4));
  const auto large = slurm_.Submit(1, {Seconds(5)}, cpus(8));
  ASSERT_TRUE(Comes([&] { return Is(small, Phase::kFinished); }, 20));
  EXPECT_TRUE(Is(large, Phase::kWaiting));
  EXPECT_EQ(service_->board().Find(large)->attempt, 0) << "it is not released in vain";
  EXPECT_TRUE(Comes([&] { return Is(large, Phase::kFinished); })) << "once the other has ended";
}

TEST_F(ServiceForeignTest, WhatSlurmKeepsIsNotQueuedAndSaysWhy) {
  const auto job = slurm_.Submit(1, {Seconds(5)},
                                 [](engine::SlurmJob& one) { one.eligible = 1'000'000 + 40'000; });
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kWaiting); }));
  ASSERT_TRUE(Comes([&] { return !service_->board().Find(job)->reason.empty(); }, 5));
  EXPECT_THAT(service_->board().Find(job)->reason, HasSubstr("waiting for Slurm: it begins at"));
  EXPECT_FALSE(Comes([&] { return Is(job, Phase::kStarting); }, 20));
  EXPECT_TRUE(Comes([&] { return Is(job, Phase::kFinished); }));
}

TEST_F(ServiceForeignTest, AGangOfTwoNodesHasOneGpuOnEach) {
  slurm_.AddNode("n1", 2, "A");
  ASSERT_TRUE(Comes([&] { return service_->View().gpus.size() == 4; }));
  const auto first = slurm_.Submit(1, {Seconds(60)});  // on n0/g0
  ASSERT_TRUE(Comes([&] { return Is(first, Phase::kRunning); }));
  const auto gang = slurm_.Submit(
      2, {Seconds(5)}, [](engine::SlurmJob& one) { one.nodes_wanted = one.nodes_most = 2; });
  ASSERT_TRUE(Comes([&] { return Is(gang, Phase::kRunning); }));
  EXPECT_EQ(service_->board().Find(gang)->gpus.at(0).uuid, "n0/g1");
  EXPECT_EQ(service_->board().Find(gang)->gpus.at(1).uuid, "n1/g1") << "the same slot on each node";
}

// As when all nodes are started together with the server.
TEST_F(ServiceForeignTest, WhatIsTooLargeForTheNodesThatAreUpIsTriedAgainWhenAnotherJoins) {
  advisor_.most = 2;
  const auto large = slurm_.Submit(4, {Seconds(5)});
  const auto small = slurm_.Submit(1, {Seconds(5)});
  ASSERT_TRUE(Comes([&] { return Is(large, Phase::kHeld) && Is(small, Phase::kFinished); }));
  EXPECT_THAT(service_->board().Find(large)->reason, HasSubstr("held until there are nodes"));
  Begin();
  ASSERT_TRUE(Is(large, Phase::kHeld));
  const auto by_hand = slurm_.Submit(4, {Seconds(5)});
  ASSERT_TRUE(Comes([&] { return Is(by_hand, Phase::kHeld); }));
  Act(Action::kHold, by_hand);
  advisor_.most = 4;
  slurm_.AddNode("n1", 4, "A");
  EXPECT_TRUE(Comes([&] { return Is(large, Phase::kFinished); }));
  EXPECT_FALSE(jobs_.jobs.at(large).asked.held);
  EXPECT_TRUE(Is(by_hand, Phase::kHeld)) << "nodes are not what that one waits for";
}

// Seen with 22.05: an earlier server had placed it on a slot of a large node, and was killed before
// the release. The next one decided before it heard where alone the job can run, again and again.
TEST_F(ServiceForeignTest, WhatSlurmDemandsHoldsAlsoForOneThatIsBeingStartedElsewhere) {
  const auto first = slurm_.Submit(2, {Seconds(1000)}), job = slurm_.Submit(1, {Seconds(5)});
  ASSERT_TRUE(Comes([&] { return Is(first, Phase::kRunning) && Is(job, Phase::kWaiting); }));
  slurm_.job(job).admin_comment = "sharewell1 ask=gpus:1 put=1,n1:g3,shards:100,sm:100,cores:1";
  (void)slurm_.Cancel({std::to_string(first)});
  slurm_.Advance(slurm_.now() + Seconds(5));
  Begin();
  const auto waits_for_slots = [&] {
    const JobPtr shown = service_->board().Find(job);
    return shown != nullptr && shown->reason.find("no node has all GPU slots") != std::string::npos;
  };
  ASSERT_TRUE(Comes(waits_for_slots)) << "n0 has no slot g3";
  slurm_.AddNode("n1", 4, "A");
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kFinished); }));
  EXPECT_THAT(jobs_.jobs.at(job).gpus.at(0).uuid, ::testing::StartsWith("n1/"));
  EXPECT_EQ(slurm_.starts[job], 1);
}

TEST_F(ServiceForeignTest, AReservedNodeIsItsJobsAlone) {
  slurm_.reservations = {{"theirs", {"n0"}, 0, 1'000'000 + 60'000}};
  ASSERT_TRUE(Comes([&] { return cluster_.nodes().front().reserved; }, 20));
  const auto theirs =
      slurm_.Submit(1, {Seconds(5)}, [](engine::SlurmJob& one) { one.reservation = "theirs"; });
  const auto other = slurm_.Submit(1, {Seconds(5)});
  ASSERT_TRUE(Comes([&] { return Is(theirs, Phase::kFinished); }, 30));
  EXPECT_TRUE(Is(other, Phase::kWaiting));
  EXPECT_TRUE(Comes([&] { return Is(other, Phase::kFinished); })) << "once it is over";
}

TEST_F(ServiceForeignTest, CoresThatSlurmGaveBeyondThoseDecidedAreNotGivenAgain) {
  slurm_.cpus_of_core = 8;
  const auto cpus = [](int count) {
    return [count](engine::SlurmJob& one) { one.cpus = one.cpus_a_node = count; };
  };
  const auto first = slurm_.Submit(1, {Seconds(30)}, cpus(9));  // comes to 16, all that n0 has
  ASSERT_TRUE(Comes([&] { return Is(first, Phase::kRunning); }));
  EXPECT_EQ(service_->board().Find(first)->cores, 16);
  EXPECT_THAT(service_->board().Find(first)->reason, HasSubstr("16 cores where 9 would do"));
  const auto second = slurm_.Submit(1, {Seconds(5)}, cpus(4));
  ASSERT_TRUE(Comes([&] { return Is(second, Phase::kWaiting); }));
  EXPECT_FALSE(Comes([&] { return Is(second, Phase::kStarting); }, 10));
  EXPECT_EQ(service_->board().Find(second)->attempt, 0) << "it is not released in vain";
  EXPECT_TRUE(Comes([&] { return Is(second, Phase::kFinished); }));
}

TEST_F(ServiceForeignTest, ANodeThatIsDrainedAndThenEmptyIsLeftAloneUntilItIsBack) {
  const auto runs = slurm_.Submit(1, {Seconds(20)});
  ASSERT_TRUE(Comes([&] { return Is(runs, Phase::kRunning); }));
  slurm_.SetNode("n0", false, "DRAIN");
  ASSERT_TRUE(Comes([&] { return Is(runs, Phase::kFinished); })) << "it runs on";
  const auto job = slurm_.Submit(1, {Seconds(5)});
  ASSERT_TRUE(Comes([&] { return Is(job, Phase::kWaiting); }));
  slurm_.Advance(slurm_.now() + Seconds(20));
  EXPECT_EQ(slurm_.starts[job], 0);
  EXPECT_EQ(service_->board().Find(job)->attempt, 0);
  slurm_.SetNode("n0", true, "IDLE");
  EXPECT_TRUE(Comes([&] { return Is(job, Phase::kFinished); }));
}

TEST_F(ServiceForeignTest, WhileSlurmIsAwayTheServerIsNotHealthy) {
  slurm_.chance_of_fault = 1;
  ASSERT_TRUE(Comes([&] { return !runner_->control.problem().empty(); }));
  EXPECT_THAT(ProblemOf(service_->View()), HasSubstr("Slurm"));
}

}  // namespace
}  // namespace sharewell::control
