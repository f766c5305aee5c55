// What Slurm is told, and what is made of what it answers, on a cluster that is played: faults at
// every step of a placement, jobs that others touch, arrays, and a server that comes back.
#include "engine/slurm/control/slurm_control.h"

#include <gmock/gmock.h>

#include "engine/slurm/control/slurm_submission.h"
#include "testing/fake_slurm.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::AllOf;
using fixtures::FakeSlurm;
using fixtures::FakeSlurmRunner;
using fixtures::FirstOf;
using fixtures::NameOf;
using fixtures::NamesOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Fault = FakeSlurm::Fault;

class SlurmControlTest : public ::testing::Test {
 protected:
  SlurmControlTest() {
    slurm_.AddNode("n1", 2, "V100");
    slurm_.AddNode("n2", 2, "V100");
    Restart();
  }
  // Another server, which has read what is there.
  std::vector<RunRequest> Restart() {
    runner_ = std::make_unique<FakeSlurmRunner>(slurm_, false);
    SHAREWELL_CHECK(runner_->control.Open().has_value());
    return runner_->Recover();
  }
  static RunRequest Request(std::int64_t job, const std::string& gpu, int attempt = 1,
                            double gib = 32) {
    RunRequest request;
    request.id = {job, attempt};
    request.nodes = {gpu.substr(0, gpu.find('/'))};
    request.gpus = {{0, gpu, "V100"}};
    request.shares = gib < 32;
    request.expected_memory = core::GiB(gib);
    request.cores = 1;
    return request;
  }
  // All that is told within so long.
  std::vector<RunEvent> Hear(double seconds) { return runner_->Hear(Seconds(seconds)); }

  FakeSlurm slurm_;
  std::unique_ptr<FakeSlurmRunner> runner_;
};

TEST_F(SlurmControlTest, AJobIsToldOnceWithItsOwnersAccountAndWhatItAsksFor) {
  const auto job = slurm_.Submit(1, {}, [](SlurmJob& one) {
    one.admin_comment = "sharewell1 ask=gpus:1,model:v100";
    one.comment = "sharewell max_slowdown=1.5 gpu_memory=8GiB";
    one.cpus = 4;
    one.account = "speech";
    one.time_limit = Seconds(600);
  });
  slurm_.Submit(1, {}, [](SlurmJob& other) { other.admin_comment = "a note of somebody else's"; });
  const auto told = Hear(5);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobSubmitted>());
  EXPECT_THAT(told, ::testing::SizeIs(1)) << "the other one is not ours";
  const ForeignJob& foreign = std::get<JobSubmitted>(told[0]).as;
  EXPECT_EQ(foreign.user, (core::Account{"ann", 1000, 1000, false}));
  EXPECT_EQ(foreign.asked.gpus, 1);
  EXPECT_EQ(foreign.asked.cores, 4);
  EXPECT_EQ(foreign.asked.project, "speech");
  EXPECT_EQ(foreign.asked.max_slowdown, 1.5);
  EXPECT_EQ(foreign.asked.gpu_memory, core::GiB(8));
  EXPECT_EQ(foreign.asked.time_limit, Seconds(600));
  EXPECT_THAT(foreign.asked.command, ElementsAre("/home/ann/train.sh"));
}

TEST_F(SlurmControlTest, AJobThatDependsOnAnotherWaitsUntilThatIsOver) {
  const auto first = slurm_.Submit(1);
  const auto job = slurm_.Submit(1, {}, [&](SlurmJob& one) {
    one.dependency = fmt::format("afterany:{}(unfulfilled)", first);
  });
  const auto told = Hear(3);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobSubmitted>());
  EXPECT_THAT(std::get<JobSubmitted>(told[1]).as.terms.waits_for, HasSubstr("afterany"));
  (void)slurm_.Cancel({std::to_string(first)});
  const auto later = Hear(3);
  ASSERT_EQ(NamesOf(later, job), NamesOf<TermsChanged>());
  EXPECT_EQ(FirstOf<TermsChanged>(later).terms, StartTerms());
}

TEST(SlurmRequests, AreReadWhereNobodyWroteThemDown) {
  const auto ask = [](const std::string& gres, int nodes) {
    SlurmJob job;
    job.gres = gres;
    job.nodes_wanted = nodes;
    const auto note = NoteOfRequest(job);
    return note ? fmt::format("{} {}", note->ask.gpus, note->ask.model) : "none";
  };
  EXPECT_EQ(ask("gres:gpu:1", 1), "1 ");
  EXPECT_EQ(ask("gres/gpu:V100:2(IDX:0-1)", 2), "4 V100") << "of each node";
  EXPECT_EQ(ask("per_job=gres:gpu:P100:3", 2), "3 P100");
  EXPECT_EQ(ask("gpu:g0:1,gpu:g1:1", 1), "2 ") << "a slot is no model";
  EXPECT_EQ(ask("gres:gpu", 1), "1 ");
  EXPECT_EQ(ask("gres:gpu:999999999", 999), "1000000 ");
  EXPECT_EQ(ask("tmp:5", 1), "none");
  EXPECT_EQ(ask("per_", 1), "none");
  EXPECT_EQ(ask("", 1), "none");
}

TEST(SlurmDependencies, AreSettledWhenNothingCanStillHappen) {
  const auto is_there = [](std::int64_t id, std::optional<std::int64_t> task, bool pending) {
    if (id == 8) return !pending;                          // runs
    return id == 7 || (id == 9 && task.value_or(3) == 3);  // wait
  };
  EXPECT_TRUE(DependencyIsSettled("", is_there));
  EXPECT_TRUE(DependencyIsSettled("(null)", is_there));
  EXPECT_FALSE(DependencyIsSettled("afterok:7(unfulfilled)", is_there));
  EXPECT_FALSE(DependencyIsSettled("afterok:5:8", is_there));
  EXPECT_TRUE(DependencyIsSettled("after:8+5", is_there)) << "it has begun";
  EXPECT_FALSE(DependencyIsSettled("after:7", is_there));
  EXPECT_FALSE(DependencyIsSettled("afterany:9_*(unfulfilled)", is_there));
  EXPECT_FALSE(DependencyIsSettled("afterany:9_3", is_there));
  EXPECT_TRUE(DependencyIsSettled("afterany:9_4,afterok:6", is_there));
  EXPECT_TRUE(DependencyIsSettled("afterok:7?afterok:6", is_there));
  EXPECT_TRUE(DependencyIsSettled("singleton", is_there));
}

TEST_F(SlurmControlTest, AJobOfOneNodeKeepsToModelsWithLargeEnoughNodes) {
  slurm_.AddNode("big", 4, "A");
  Restart();
  const auto four = slurm_.Submit(4), two = slurm_.Submit(2);
  const auto told = Hear(3);
  for (const JobSubmitted& event : AllOf<JobSubmitted>(told)) {
    if (event.job == four) {
      EXPECT_THAT(event.as.asked.gpu_models, ElementsAre("A"));
    } else if (event.job == two) {
      EXPECT_THAT(event.as.asked.gpu_models, IsEmpty());
    }
  }
  EXPECT_EQ(NamesOf(told, four), NamesOf<JobSubmitted>());
}

TEST_F(SlurmControlTest, TermsAreToldOnceAndAgainToTheNextServer) {
  const auto gang = slurm_.Submit(2, {}, [](SlurmJob& one) { one.nodes_wanted = 2; });
  const auto later = slurm_.Submit(1, {}, [](SlurmJob& one) { one.eligible = 1'010'000; });
  const auto told = Hear(3);
  ASSERT_EQ(NamesOf(told, gang), NamesOf<JobSubmitted>());
  EXPECT_EQ(std::get<JobSubmitted>(told[0]).as.terms.gpus_a_node, 1);
  EXPECT_THAT(std::get<JobSubmitted>(told[1]).as.terms.waits_for, HasSubstr("it begins at"));
  EXPECT_EQ(FirstOf<TermsChanged>(Hear(12)).job, later) << "it has begun";
  EXPECT_THAT(Hear(5), IsEmpty());
  Restart();
  runner_->Expect(gang);
  runner_->Expect(later);
  const auto again = Hear(3);
  EXPECT_EQ(NamesOf(again, gang), NamesOf<TermsChanged>());
  EXPECT_EQ(FirstOf<TermsChanged>(again).terms.gpus_a_node, 1);
  EXPECT_THAT(NamesOf(again, later), IsEmpty()) << "it has none";
}

TEST_F(SlurmControlTest, FairShareIsReadEachMinuteAndComesInAsAWeight) {
  slurm_.shares.fair = {{{"ann", ""}, 0.2}, {{"bob", ""}, 1}};
  Restart();
  const auto job = slurm_.Submit(1);
  const auto told = Hear(3);
  EXPECT_LT(FirstOf<JobSubmitted>(told).as.terms.weight, 0.5);
  slurm_.shares.fair[{"ann", ""}] = 0.9;
  const auto later = Hear(70);
  ASSERT_EQ(NamesOf(later, job), NamesOf<TermsChanged>());
  EXPECT_GT(FirstOf<TermsChanged>(later).terms.weight, 0.7);
}

TEST_F(SlurmControlTest, GpusWithoutShardsAreGivenWholeAndItIsSaid) {
  slurm_.AddPlainNode("old", 2, "A");
  Restart();
  EXPECT_THAT(runner_->control.remarks(), Contains(HasSubstr("each is given to one job")));
  const RunnerNode node = runner_->control.Nodes().back();
  EXPECT_TRUE(node.exclusive);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.gpus[1].uuid, "old/gpu1");
  const auto job = slurm_.Submit(1, {Seconds(20)});
  // Another's, which Slurm put there by itself.
  slurm_.Submit(1, {Seconds(20)}, [](SlurmJob& other) {
    other.admin_comment.clear();
    other.phase = SlurmPhase::kRunning;
    other.priority = 1;
    other.nodes = {"old"};
    other.gres = "gres:gpu:1";
  });
  EXPECT_EQ(FirstOf<GpuTaken>(Hear(3)).gpu, "old/gpu1");
  RunRequest request = Request(job, "old/gpu0", 1, 8);
  runner_->Start(request);
  Hear(5);
  EXPECT_EQ(slurm_.job(job).gres, "gres:gpu:1");
  EXPECT_EQ(slurm_.job(job).phase, SlurmPhase::kRunning);
  ASSERT_EQ(Restart().size(), 1U);
  runner_->Stop({job, 1}, {Seconds(5)});
  const auto told = Hear(8);
  EXPECT_THAT(FirstOf<TermsChanged>(told).terms.nodes, ElementsAre("old"))
      << "whole GPUs stay whole";
  runner_->Start(Request(job, "n1/g0", 2));
  EXPECT_THAT(FirstOf<StartRefused>(Hear(5)).why, HasSubstr("whole GPUs"));
}

TEST_F(SlurmControlTest, AGangIsRefusedOnFewerNodesThanItAskedFor) {
  const auto gang = slurm_.Submit(2, {}, [](SlurmJob& one) { one.nodes_wanted = 2; });
  Hear(2);
  RunRequest request = Request(gang, "n1/g0");
  request.gpus.push_back({1, "n1/g1", "V100"});
  runner_->Start(request);
  EXPECT_THAT(FirstOf<StartRefused>(Hear(3)).why, HasSubstr("2 nodes"));
  EXPECT_TRUE(IsHeldJob(slurm_.job(gang)));
}

TEST_F(SlurmControlTest, WhatSlurmKeepsForAReasonOfItsOwnIsHeldAgainSoonAndTriedLater) {
  const auto job = slurm_.Submit(1, {Seconds(5)});
  slurm_.keeps[job] = "Licenses";
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  const auto told = Hear(8);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<StartRefused, TermsChanged>()));
  EXPECT_THAT(FirstOf<TermsChanged>(told).terms.waits_for, HasSubstr("Licenses"));
  EXPECT_TRUE(IsHeldJob(slurm_.job(job)));
  slurm_.keeps.clear();
  EXPECT_EQ(FirstOf<TermsChanged>(Hear(70)).terms, StartTerms());
  runner_->Start(Request(job, "n1/g0", 2));
  EXPECT_EQ(NamesOf(Hear(20), job), (NamesOf<RunStarted, RunEnded>()));
}

TEST_F(SlurmControlTest, NodesOfAReservationAreKeptForItsJobs) {
  slurm_.reservations = {{"theirs", {"n1"}, 1'000'000, 1'060'000}};
  const auto told = Hear(7);
  EXPECT_EQ(FirstOf<NodeChanged>(told).node, "n1");
  EXPECT_TRUE(FirstOf<NodeChanged>(told).reserved);
  const auto job = slurm_.Submit(1, {}, [](SlurmJob& one) { one.reservation = "theirs"; });
  EXPECT_THAT(FirstOf<JobSubmitted>(Hear(3)).as.terms.nodes, ElementsAre("n1"));
  Restart();
  EXPECT_TRUE(runner_->control.Nodes().at(0).reserved);
  const auto over = Hear(60);
  EXPECT_FALSE(FirstOf<NodeChanged>(over).reserved);
  EXPECT_THAT(slurm_.job(job).nodes, IsEmpty());
}

TEST_F(SlurmControlTest, WhatItsUserHoldsIsHeldHereToo) {
  const auto job =
      slurm_.Submit(1, {}, [](SlurmJob& one) { one.admin_comment = "sharewell1 ask=gpus:1,held"; });
  const auto told = Hear(3);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobSubmitted>());
  EXPECT_TRUE(std::get<JobSubmitted>(told[0]).as.asked.held);
}

TEST_F(SlurmControlTest, WhatARunTellsOfItselfIsHandedOnBeforeItsSteps) {
  const auto job = slurm_.Submit(1, {Seconds(100), 3});
  Hear(2);
  runner_->Start(Request(job, "n2/g1"));
  Hear(8);
  slurm_.documents[job] = "{}";
  slurm_.steps[job] = 2;
  EXPECT_EQ(NamesOf(Hear(8), job), (NamesOf<RunTold, RunProgress>()));
  slurm_.documents[job] = "{\"a\":1}";
  EXPECT_EQ(FirstOf<RunTold>(Hear(8)).document, "{\"a\":1}") << "without a step more";
}

TEST_F(SlurmControlTest, StepsAreThoseOfTheRunAndOnlyRise) {
  const auto job = slurm_.Submit(1, {Seconds(100), 3});
  Hear(2);
  slurm_.steps[job] = 500;  // of nothing: it does not run yet
  EXPECT_THAT(NamesOf(Hear(3), job), Not(Contains(NameOf<RunProgress>())));
  runner_->Start(Request(job, "n2/g1"));
  EXPECT_EQ(FirstOf<RunProgress>(Hear(8)).steps, 500);
  EXPECT_THAT(NamesOf(Hear(8), job), IsEmpty()) << "said once";
  slurm_.steps[job] = 400;  // an agent that was started again
  EXPECT_THAT(NamesOf(Hear(8), job), IsEmpty());
  slurm_.steps[job] = 600;
  EXPECT_EQ(FirstOf<RunProgress>(Hear(8)).steps, 600);
}

TEST_F(SlurmControlTest, ItIsPlacedCheckedReleasedRunsAndEnds) {
  const auto job = slurm_.Submit(1, {Seconds(10), 3});
  Hear(2);
  runner_->Start(Request(job, "n2/g1", 1, 8));
  const auto told = Hear(20);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<RunStarted, RunEnded>()));
  EXPECT_EQ(FirstOf<RunEnded>(told).end.exit_code, 3);
  ASSERT_EQ(slurm_.log.size(), 3U);
  EXPECT_THAT(slurm_.log[0], HasSubstr("put=1,n2:g1,shards:25")) << "before it has the slot";
  EXPECT_THAT(slurm_.log[1], HasSubstr("ReqNodeList=n2"));
  EXPECT_THAT(slurm_.log[1], HasSubstr("Gres=shard:g1:25"));
  EXPECT_EQ(slurm_.log[2], fmt::format("release {}", job));
}

// slurmctld fails, does half of it, or does it and the answer is lost, at each call of a placement.
TEST_F(SlurmControlTest, AFaultAtAnyStepOfAPlacementLosesAndDoublesNothing) {
  for (const Fault fault : {Fault::kFails, Fault::kLost, Fault::kHalf}) {
    for (std::size_t step = 0; step < 8; ++step) {
      const auto job = slurm_.Submit(1, {Seconds(5)});
      Hear(2);
      slurm_.faults.assign(step, Fault::kNone);
      slurm_.faults.push_back(fault);
      runner_->Start(Request(job, "n1/g0"));
      const auto told = Hear(60);
      slurm_.faults.clear();
      EXPECT_EQ(NamesOf(told, job), (NamesOf<RunStarted, RunEnded>()))
          << "fault " << static_cast<int>(fault) << " at call " << step;
      EXPECT_EQ(slurm_.starts[job], 1);
      EXPECT_EQ(FirstOf<RunEnded>(told).end.exit_code, 0);
    }
  }
  EXPECT_EQ(slurm_.wrong, "");
}

// A slurmctld that was killed forgets its last seconds, all of them or those before one of two
// commands, and carries out a release that waited for it.
TEST_F(SlurmControlTest, AJobThatRunsWithoutItsGpuAsSlurmForgotItIsTakenBack) {
  struct Case {
    bool nodes, note;  // what is left of the place
    bool taken_back;
  };
  for (const Case& left :
       {Case{false, false, true}, Case{true, false, true}, Case{true, true, false}}) {
    slurm_.starts_jobs = false;
    const auto job = slurm_.Submit(1, {Seconds(30)});
    Hear(2);
    const std::string before = slurm_.job(job).admin_comment;
    runner_->Start(Request(job, "n1/g0"));
    Hear(2);
    ASSERT_EQ(slurm_.log.back(), fmt::format("release {}", job));
    slurm_.job(job).slots.clear();
    if (!left.nodes) slurm_.job(job).required_nodes.clear();
    if (!left.note) slurm_.job(job).admin_comment = before;
    slurm_.starts_jobs = true;
    const auto told = Hear(20);
    EXPECT_EQ(NamesOf(told, job), left.taken_back ? NamesOf<StartRefused>() : NamesOf<RunStarted>())
        << left.nodes << left.note;
    if (left.taken_back) {
      EXPECT_EQ(slurm_.job(job).priority, 0) << "it is held again";
      EXPECT_THAT(slurm_.job(job).required_nodes, IsEmpty()) << "nobody asked for that node";
      EXPECT_THAT(FirstOf<StartRefused>(told).why, HasSubstr("forgot its place"));
    }
    slurm_.Purge(job);
    Restart();
  }
}

TEST_F(SlurmControlTest, AServerThatIsKilledAtAnyStepFindsAllAgain) {
  for (std::size_t calls = 1; calls < 12; ++calls) {
    const auto job = slurm_.Submit(1, {Seconds(30)});
    Hear(2);
    runner_->Start(Request(job, "n1/g0"));
    const int until = slurm_.calls + static_cast<int>(calls);
    std::vector<RunEvent> lost;
    while (slurm_.calls < until) runner_->Wait(slurm_.now() + Seconds(0.25), lost);
    const auto found = Restart();
    // Either it runs, or it waits and is told again.
    if (found.empty()) {
      EXPECT_EQ(NamesOf(Hear(3), job), NamesOf<JobSubmitted>()) << calls;
      runner_->Start(Request(job, "n2/g1", 2));
      EXPECT_EQ(NamesOf(Hear(50), job), (NamesOf<RunStarted, RunEnded>())) << calls;
    } else {
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0].id, (RunId{job, 1}));
      EXPECT_EQ(found[0].gpus[0].uuid, "n1/g0");
      EXPECT_EQ(NamesOf(Hear(50), job), (NamesOf<RunStarted, RunEnded>())) << calls;
    }
    EXPECT_EQ(slurm_.starts[job], 1) << calls;
    slurm_.Purge(job);
    Restart();
  }
}

TEST_F(SlurmControlTest, AnEndWhileTheServerWasGoneIsTold) {
  const auto job = slurm_.Submit(1, {Seconds(5), 9});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(2);
  slurm_.Advance(slurm_.now() + Seconds(60));
  const auto found = Restart();
  ASSERT_EQ(found.size(), 1U);
  const auto told = Hear(2);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<RunStarted, RunEnded>()));
  EXPECT_EQ(FirstOf<RunEnded>(told).end.exit_code, 9);
}

TEST_F(SlurmControlTest, CoresAreSetBeforeItIsReleasedAndWhatSlurmGaveIsTold) {
  const auto slim =
      slurm_.Submit(1, {Seconds(20)}, [](SlurmJob& one) { one.cpus = one.cpus_a_node = 8; });
  Hear(2);
  RunRequest request = Request(slim, "n1/g0");
  request.cores = 3;
  runner_->Start(request);
  const auto told = Hear(5);
  EXPECT_EQ(slurm_.job(slim).cpus, 3);
  EXPECT_THAT(slurm_.job(slim).admin_comment, HasSubstr("ask=gpus:1,cpus:8"));
  EXPECT_EQ(FirstOf<RunStarted>(told).cores, 3);
  EXPECT_THAT(FirstOf<RunStarted>(told).message, HasSubstr("3 of the 8 cores"));
  runner_->Stop({slim, 1}, {Seconds(5)});
  Hear(6);
  EXPECT_EQ(slurm_.job(slim).cpus, 8) << "for whoever has it next";
  EXPECT_EQ(slurm_.job(slim).cpus_a_node, 8);

  slurm_.cpus_of_core = 2;
  request.id.attempt = 2;
  runner_->Start(request);
  EXPECT_EQ(FirstOf<RunStarted>(Hear(5)).cores, 4) << "whole cores";
  const auto found = Restart();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cores, 4);
  EXPECT_EQ(found[0].asked.cores, 8);
}

TEST_F(SlurmControlTest, ASlurmThatDoesNotTakeTheCoresStartsItAllTheSame) {
  const auto job =
      slurm_.Submit(1, {Seconds(5)}, [](SlurmJob& one) { one.cpus = one.cpus_a_node = 8; });
  slurm_.refuse_cores = true;
  Hear(2);
  RunRequest request = Request(job, "n1/g0");
  request.cores = 3;
  runner_->Start(request);
  const auto told = Hear(20);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<RunStarted, RunEnded>()));
  EXPECT_EQ(FirstOf<RunStarted>(told).cores, 8);
}

TEST_F(SlurmControlTest, AnEndThatSlurmHasForgottenIsReadFromItsAccounts) {
  for (const bool accounts : {true, false}) {
    slurm_.accounts = accounts;
    const auto job = slurm_.Submit(1, {Seconds(5), 3});
    Hear(2);
    runner_->Start(Request(job, "n1/g0"));
    Hear(2);
    slurm_.Advance(slurm_.now() + Seconds(10));
    slurm_.Purge(job);
    const auto told = Hear(10);
    ASSERT_EQ(NamesOf(told, job), NamesOf<RunEnded>());
    const RunEnd& end = FirstOf<RunEnded>(told).end;
    if (accounts) {
      EXPECT_EQ(end.exit_code, 3);
      EXPECT_EQ(end.message, "");
    } else {
      EXPECT_THAT(end.message, HasSubstr("how it ended is not known"));
    }
  }
}

TEST_F(SlurmControlTest, AccountsThatDoNotAnswerAreAskedAgainForAWhile) {
  slurm_.accounts = true;
  const auto job = slurm_.Submit(1, {Seconds(500)});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(2);
  slurm_.Purge(job);  // while they say that it runs
  EXPECT_THAT(NamesOf(Hear(30), job), IsEmpty());
  EXPECT_THAT(FirstOf<RunEnded>(Hear(60)).end.message, HasSubstr("accounting says RUNNING"));
}

TEST_F(SlurmControlTest, TwoShareOneGpuByTheMemoryThatTheyNeedAndAThirdIsRefused) {
  const auto a = slurm_.Submit(1, {Seconds(100)}), b = slurm_.Submit(1, {Seconds(100)}),
             c = slurm_.Submit(1, {Seconds(100)});
  Hear(2);
  RunRequest first = Request(a, "n1/g0", 1, 18);
  first.thread_share = 0.8;
  runner_->Start(first);
  runner_->Start(Request(b, "n1/g0", 1, 14));
  Hear(3);
  EXPECT_EQ(slurm_.job(a).phase, SlurmPhase::kRunning);
  EXPECT_EQ(slurm_.job(b).phase, SlurmPhase::kRunning);
  EXPECT_EQ(slurm_.job(a).slots.at(0).shards + slurm_.job(b).slots.at(0).shards, 100)
      << "rounded up they would be 101";
  EXPECT_THAT(slurm_.job(a).admin_comment, HasSubstr("sm:80"));
  // S15: what is believed of either may be wrong, and the other does not suffer for it.
  EXPECT_THAT(slurm_.job(a).admin_comment, HasSubstr("mem:18432"));
  EXPECT_THAT(slurm_.job(b).admin_comment, HasSubstr("mem:14336"));
  runner_->Start(Request(c, "n1/g0", 1, 14));
  const auto told = Hear(3);
  EXPECT_EQ(NamesOf(told, c), NamesOf<StartRefused>());
  EXPECT_THAT(FirstOf<StartRefused>(told).why, HasSubstr("shards"));
}

TEST_F(SlurmControlTest, WhatSlurmDoesNotStartInTimeIsHeldAgainAndRefused) {
  slurm_.starts_jobs = false;
  const auto job = slurm_.Submit(1);
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  const auto told = Hear(40);
  EXPECT_EQ(NamesOf(told, job), NamesOf<StartRefused>());
  EXPECT_THAT(FirstOf<StartRefused>(told).why, HasSubstr("Resources"));
  EXPECT_TRUE(IsHeldJob(slurm_.job(job)));
  EXPECT_THAT(slurm_.job(job).slots, IsEmpty());
  slurm_.starts_jobs = true;
  runner_->Start(Request(job, "n2/g0", 2));
  EXPECT_EQ(NamesOf(Hear(30), job), (NamesOf<RunStarted, RunEnded>()));
}

TEST_F(SlurmControlTest, WhatSlurmRefusesIsToldInItsWordsAndStaysHeld) {
  slurm_.refuse_updates = "Invalid generic resource (gres) specification";
  const auto job = slurm_.Submit(1);
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  const auto told = Hear(5);
  EXPECT_EQ(NamesOf(told, job), NamesOf<StartRefused>());
  EXPECT_THAT(FirstOf<StartRefused>(told).why, HasSubstr("Invalid generic resource"));
  EXPECT_TRUE(IsHeldJob(slurm_.job(job)));
}

TEST_F(SlurmControlTest, AStopPutsItBackAndTheNextStartGoesElsewhere) {
  const auto job = slurm_.Submit(1, {Seconds(20)});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(3);
  runner_->Stop({job, 1}, {Seconds(5)});
  const auto told = Hear(6);
  EXPECT_EQ(NamesOf(told, job), NamesOf<RunEnded>());
  EXPECT_TRUE(FirstOf<RunEnded>(told).end.stopped);
  EXPECT_THAT(slurm_.job(job).slots, IsEmpty()) << "else the next GPU would be added to the first";
  runner_->Start(Request(job, "n2/g1", 2));
  Hear(3);
  EXPECT_THAT(slurm_.job(job).nodes, ElementsAre("n2"));
  EXPECT_EQ(slurm_.job(job).slots, (std::vector<SlurmSlot>{{"g1", 100}, {"g0", 1}}));
  EXPECT_THAT(slurm_.log, Contains(HasSubstr("StartTime=now")));
}

TEST_F(SlurmControlTest, ACancelledRunEndsAndACancelInSlurmIsTold) {
  const auto a = slurm_.Submit(1, {Seconds(100)}), b = slurm_.Submit(1, {Seconds(100)}),
             c = slurm_.Submit(1), d = slurm_.Submit(1);
  Hear(2);
  runner_->Start(Request(a, "n1/g0"));
  runner_->Start(Request(b, "n1/g1"));
  Hear(3);
  runner_->Stop({a, 1}, {Seconds(5), true});
  (void)slurm_.Cancel({std::to_string(b), std::to_string(c)});
  runner_->CancelWaiting(d);
  const auto told = Hear(5);
  EXPECT_EQ(NamesOf(told, a), NamesOf<RunEnded>());
  EXPECT_EQ(NamesOf(told, b), (NamesOf<JobWithdrawn, RunEnded>()));
  EXPECT_EQ(NamesOf(told, c), NamesOf<JobWithdrawn>());
  EXPECT_EQ(slurm_.job(d).phase, SlurmPhase::kCancelled);
}

TEST_F(SlurmControlTest, AJobThatIsCancelledBetweenTheDecisionAndItsStartEnds) {
  const auto job = slurm_.Submit(1);
  Hear(2);
  (void)slurm_.Cancel({std::to_string(job)});
  runner_->Start(Request(job, "n1/g0"));
  const auto told = Hear(5);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<JobWithdrawn, RunEnded>()));
  EXPECT_EQ(slurm_.starts[job], 0);
}

TEST_F(SlurmControlTest, WhatAnAdminReleasesIsTheirsAndItsGpuIsTaken) {
  const auto job = slurm_.Submit(1, {Seconds(20)});
  Hear(2);
  slurm_.Do(
      fmt::format("update JobId={} ReqNodeList=n1 Gres=shard:g1:100 "
                  "AdminComment=\"sharewell1 ask=gpus:1 put=9,n1:g1,shards:100,sm:100\"",
                  job));
  slurm_.Do(fmt::format("release {}", job));
  const auto told = Hear(3);
  EXPECT_EQ(NamesOf(told, job), NamesOf<JobWithdrawn>());
  EXPECT_EQ(FirstOf<GpuTaken>(told).gpu, "n1/g1");
  const auto free = Hear(30);
  EXPECT_EQ(FirstOf<GpuTaken>(free).by, "");
}

TEST_F(SlurmControlTest, AJobThatWaitedAndIsGoneWhenTheServerComesBackIsTold) {
  Restart();
  runner_->Expect(77);
  EXPECT_EQ(NamesOf(Hear(2), 77), NamesOf<JobWithdrawn>());
}

TEST_F(SlurmControlTest, WhatSlurmPutsBackAfterANodeFailedIsHeldAndToldAsStopped) {
  const auto job = slurm_.Submit(1, {Seconds(100)});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(3);
  slurm_.SetNode("n1", false, "DOWN");
  const auto told = Hear(10);
  EXPECT_EQ(NamesOf(told, job), NamesOf<RunEnded>());
  EXPECT_TRUE(FirstOf<RunEnded>(told).end.stopped);
  EXPECT_TRUE(IsHeldJob(slurm_.job(job)));
  EXPECT_EQ(FirstOf<NodeWent>(told).node, "n1");
  slurm_.SetNode("n1", true, "IDLE");
  EXPECT_EQ(FirstOf<NodeCame>(Hear(10)).node.gpus.size(), 2U);
}

TEST_F(SlurmControlTest, ADrainedNodeKeepsWhatRunsThere) {
  const auto job = slurm_.Submit(1, {Seconds(30)});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(3);
  slurm_.SetNode("n1", false, "DRAIN");
  const auto told = Hear(10);
  EXPECT_THAT(NamesOf(told, job), IsEmpty());
  EXPECT_THAT(FirstOf<GpuTaken>(told).by, HasSubstr("n1"));
  const auto later = Hear(40);
  EXPECT_EQ(FirstOf<NodeWent>(later).node, "n1") << "once it is empty";
  EXPECT_THAT(AllOf<GpuTaken>(later), IsEmpty()) << "none is free now";
}

TEST_F(SlurmControlTest, WhileSlurmIsAwayItSaysSoOnceAndAsksEverMoreSeldom) {
  slurm_.chance_of_fault = 1;
  const int before = slurm_.calls;
  const auto told = Hear(100);
  EXPECT_EQ(told.size(), 1U);
  EXPECT_EQ(NameOf(told[0]), NameOf<RunnerNote>());
  EXPECT_THAT(runner_->control.problem(), HasSubstr("slurmctld"));
  EXPECT_LT(slurm_.calls - before, 16);
  slurm_.chance_of_fault = 0;
  Hear(15);
  EXPECT_EQ(runner_->control.problem(), "");
}

TEST_F(SlurmControlTest, TheQueueIsReadAsTextWhileNothingChanges) {
  for (int i = 0; i < 50; ++i) slurm_.Submit(1);
  Hear(3);
  const int before = slurm_.calls;
  Hear(10);
  EXPECT_LE(slurm_.calls - before, 14) << "one look a second, and the nodes";
}

TEST_F(SlurmControlTest, ADryRunDecidesOnWhatSlurmRunsAndTouchesNothing) {
  SlurmControlOptions options = FakeSlurmRunner::Options(slurm_);
  std::vector<std::string> said;
  options.dry_run = true;
  options.log = [&](const std::string& line) { said.push_back(line); };
  SlurmControl control(slurm_, options);
  ASSERT_TRUE(control.Open());
  const auto job = slurm_.Submit(1, {Seconds(20)}, [](SlurmJob& one) {
    one.admin_comment.clear();
    one.gres = "gres:gpu:v100:1";
    one.phase = SlurmPhase::kRunning;
    one.priority = 5;
    one.nodes = {"n1"};
  });
  std::vector<RunEvent> told;
  control.Cycle(slurm_.now(), told);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobSubmitted>());
  EXPECT_EQ(std::get<JobSubmitted>(told[0]).as.asked.gpus, 1);
  EXPECT_THAT(std::get<JobSubmitted>(told[0]).as.asked.gpu_models, ElementsAre("v100"));
  control.Start(Request(job, "n2/g1"));
  told.clear();
  control.Cycle(slurm_.now(), told);
  EXPECT_EQ(NamesOf(told, job), NamesOf<RunStarted>());
  EXPECT_THAT(said, Contains(HasSubstr("ReqNodeList=n2")));
  EXPECT_THAT(slurm_.log, IsEmpty()) << "nothing was done";
}

TEST_F(SlurmControlTest, APlaceThatSlurmForgotWithItsReleaseIsWrittenAgain) {
  const auto job = slurm_.Submit(1, {Seconds(50)});
  Hear(2);
  const SlurmJob before = slurm_.job(job);
  slurm_.starts_jobs = false;
  runner_->Start(Request(job, "n2/g1"));
  Hear(2);
  EXPECT_NE(slurm_.job(job).priority, 0) << "it was released";
  slurm_.job(job) = before;  // slurmctld was killed, and has its state of some seconds ago
  slurm_.starts_jobs = true;
  EXPECT_EQ(NamesOf(Hear(10), job), NamesOf<RunStarted>());
  EXPECT_THAT(slurm_.job(job).nodes, ElementsAre("n2"));
  EXPECT_THAT(slurm_.job(job).slots, ElementsAre(SlurmSlot{"g1", 100}));
}

TEST_F(SlurmControlTest, AJobThatSlurmStartsWithoutItsPlaceComesBackAndIsPlacedAnew) {
  const auto job = slurm_.Submit(1, {Seconds(50)});
  Hear(2);
  slurm_.starts_jobs = false;
  runner_->Start(Request(job, "n2/g1"));
  Hear(2);
  slurm_.job(job).slots.clear();  // it forgot what was set, and then heard the release
  slurm_.job(job).required_nodes.clear();
  slurm_.starts_jobs = true;
  EXPECT_EQ(NamesOf(Hear(10), job), NamesOf<StartRefused>());
  EXPECT_THAT(slurm_.wrong, HasSubstr("starts without g1"));
  slurm_.wrong.clear();
  EXPECT_EQ(slurm_.job(job).priority, 0);
  runner_->Start(Request(job, "n2/g1", 2));
  EXPECT_EQ(NamesOf(Hear(10), job), NamesOf<RunStarted>());
  EXPECT_THAT(slurm_.job(job).slots, ElementsAre(SlurmSlot{"g1", 100}));
}

TEST_F(SlurmControlTest, AJobThatSomebodyTakesToAnotherPartitionIsTheirs) {
  const auto job = slurm_.Submit(1, {Seconds(50)});
  Hear(2);
  runner_->Start(Request(job, "n2/g1"));
  Hear(2);
  struct Elsewhere final : SlurmClient {  // what it has of the job is not in the partition's queue
    explicit Elsewhere(FakeSlurm& all, std::int64_t job) : slurm(all), hidden(job) {}
    core::Result<std::vector<SlurmQueueLine>> Queue() override {
      auto lines = slurm.Queue();
      if (lines) std::erase_if(*lines, [&](const auto& line) { return line.id == hidden; });
      return lines;
    }
    core::Result<std::vector<SlurmJob>> Jobs(const std::vector<std::int64_t>& ids) override {
      return slurm.Jobs(ids);
    }
    core::Result<std::vector<SlurmJob>> Check(const std::vector<std::int64_t>& ids,
                                              const std::vector<std::string>& names) override {
      return slurm.Check(ids, names);
    }
    core::Result<std::vector<SlurmNode>> Nodes() override { return slurm.Nodes(); }
    core::Result<std::vector<SlurmReservation>> Reservations() override {
      return slurm.Reservations();
    }
    core::Result<std::map<std::string, core::Seconds>> PartitionLimits() override {
      return slurm.PartitionLimits();
    }
    SlurmShares Shares() override { return slurm.Shares(); }
    core::Result<std::optional<SlurmJob>> Accounted(std::int64_t id) override {
      return slurm.Accounted(id);
    }
    core::Result<std::string> Control(const std::vector<std::string>& lines) override {
      return slurm.Control(lines);
    }
    core::Result<std::string> Cancel(const std::vector<std::string>& names) override {
      return slurm.Cancel(names);
    }
    core::Result<std::string> Version() override { return slurm.Version(); }
    FakeSlurm& slurm;
    std::int64_t hidden;
  } elsewhere(slurm_, job);
  SlurmControl control(elsewhere, FakeSlurmRunner::Options(slurm_));
  ASSERT_TRUE(control.Open());
  ASSERT_EQ(control.Recover().value().size(), 1U);
  slurm_.job(job).partition = "other";
  std::vector<RunEvent> told;
  control.Cycle(Seconds(100), told);
  EXPECT_EQ(NamesOf(told, job), (NamesOf<JobWithdrawn, RunEnded>()));
  EXPECT_THAT(FirstOf<JobWithdrawn>(told).why, HasSubstr("partition 'other'"));
}

TEST_F(SlurmControlTest, TimeLimitsAreExtendedByWholeMinutes) {
  const auto job = slurm_.Submit(1, {Seconds(50)});
  Hear(2);
  runner_->Start(Request(job, "n1/g0"));
  Hear(3);
  slurm_.log.clear();
  for (int lost = 0; lost < 59; ++lost) {  // as a job loses them, second by second
    runner_->control.SetTimeLimit({job, 1}, Seconds(3721 + lost));
    Hear(0.25);
  }
  Hear(2);
  EXPECT_EQ(slurm_.job(job).time_limit, Seconds(3780));
  EXPECT_THAT(slurm_.log, ElementsAre(HasSubstr("TimeLimit=1:03:00"))) << "said once";
}

TEST_F(SlurmControlTest, AJobWithATimeLimitSharesWithNobodyWhereTheLimitCannotBeExtended) {
  const auto user_mode = [](SlurmJob& one) {
    one.comment = one.admin_comment;
    one.uid = 1000;
    one.time_limit = Seconds(600);
  };
  const auto job = slurm_.Submit(1, {}, user_mode);
  SlurmControlOptions options = FakeSlurmRunner::Options(slurm_);
  options.admin = false;
  options.uid = 1000;
  SlurmControl control(slurm_, options);
  ASSERT_TRUE(control.Open());
  std::vector<RunEvent> told;
  control.Cycle(Seconds(1), told);
  const ForeignJob& foreign = FirstOf<JobSubmitted>(told).as;
  EXPECT_EQ(foreign.asked.time_limit, Seconds(600)) << job;
  EXPECT_TRUE(foreign.asked.exclusive);
  EXPECT_THAT(foreign.remark, HasSubstr("time limit"));
}

TEST_F(SlurmControlTest, S8_AJobWhoseModelIsNotPredictedYetKeepsNobodyWaiting) {
  const auto job = slurm_.Submit(
      1, {}, [](SlurmJob& one) { one.comment = "sharewell model=large.onnx batch=64"; });
  const auto other = slurm_.Submit(1);
  SlurmControlOptions options = FakeSlurmRunner::Options(slurm_);
  std::optional<core::Result<core::Needs>> predicted;
  options.predict = [&](const auto&, const auto&, const auto&) { return predicted; };
  SlurmControl control(slurm_, options);
  ASSERT_TRUE(control.Open());
  std::vector<RunEvent> told;
  control.Cycle(Seconds(1), told);
  EXPECT_THAT(NamesOf(told, job), IsEmpty());
  EXPECT_EQ(NamesOf(told, other), NamesOf<JobSubmitted>());
  predicted = core::Needs{};
  (*predicted)->from = "large.onnx at batch 64";
  told.clear();
  control.Cycle(Seconds(3), told);
  ASSERT_EQ(NamesOf(told, job), NamesOf<JobSubmitted>());
  EXPECT_EQ(FirstOf<JobSubmitted>(told).as.asked.needs->from, "large.onnx at batch 64");
  EXPECT_THAT(NamesOf(told, other), IsEmpty()) << "it was told before";
}

TEST_F(SlurmControlTest, AListHasWhatRunsAndWhatEnded) {
  const auto a = slurm_.Submit(1, {Seconds(5)}), b = slurm_.Submit(1, {Seconds(50)});
  Hear(2);
  runner_->Start(Request(a, "n1/g0"));
  runner_->Start(Request(b, "n1/g1"));
  Hear(10);
  runner_->control.List(Seconds(7));
  auto told = Hear(2);
  const RunsListed& list = FirstOf<RunsListed>(told);
  EXPECT_EQ(list.as_of, Seconds(7));
  EXPECT_EQ(list.nodes.size(), 2U);
  ASSERT_EQ(list.runs.size(), 2U);
  EXPECT_FALSE(list.runs[0].end);
  EXPECT_TRUE(list.runs[1].end);
}

}  // namespace
}  // namespace sharewell::engine
