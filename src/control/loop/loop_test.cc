#include "control/loop/loop.h"

#include <gmock/gmock.h>

#include <span>
#include <variant>

#include "testing/builders.h"
#include "testing/fake_engine.h"

namespace sharewell::control {
namespace {

using core::Change;
using core::JobId;
using core::JobState;
using core::Seconds;
using fixtures::ClusterBuilder;
using fixtures::OnGpus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Journal = std::vector<std::string>;

class FakeEstimator : public Estimator {
 public:
  FakeEstimator(const core::Cluster& cluster, Journal& journal)
      : cluster_(cluster), journal_(journal) {}
  core::Estimate Believe(const core::Job& job) const override {
    journal_.push_back("estimate " + job.name);
    return fixtures::EstimateOf({.seconds = 100}, cluster_);
  }
  core::Estimate Measured(const core::Job&) override {
    core::Estimate estimate = fixtures::EstimateOf({.seconds = 100, .busy = 0.125}, cluster_);
    estimate.sources = core::Sources::All(core::Source::kObserved);
    return estimate;
  }

 private:
  const core::Cluster& cluster_;
  Journal& journal_;
};

// Gives the plans it was handed, one a decision, and keeps what it saw.
class FakePolicy : public policy::Policy {
 public:
  explicit FakePolicy(Journal& journal) : journal_(journal) {}
  const std::string& Name() const override { return name_; }
  std::unique_ptr<policy::Memo> NewMemo() const override {
    ++memos;
    return std::make_unique<policy::Memo>();
  }
  core::Plan Decide(const core::Snapshot&, std::span<const Change> changes,
                    policy::Memo&) const override {
    journal_.push_back("decide");
    seen.assign(changes.begin(), changes.end());
    if (plans.empty()) return {};
    core::Plan plan = std::move(plans.front());
    plans.erase(plans.begin());
    return plan;
  }
  mutable std::vector<core::Plan> plans;
  mutable std::vector<Change> seen;
  mutable int memos = 0;

 private:
  std::string name_ = "fake";
  Journal& journal_;
};

class FakeRecorder : public Recorder {
 public:
  explicit FakeRecorder(Journal& journal) : journal_(journal) {}
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan&) override {
    journal_.push_back("record");
    waiting = snapshot.waiting().size();
    return outcome;
  }
  core::Result<void> outcome;
  void OnDecision(Seconds took) override { EXPECT_GE(took, Seconds(0)); }
  std::size_t waiting = 0;  // in the snapshot that was decided on

 private:
  Journal& journal_;
};

class LoopTest : public ::testing::Test {
 protected:
  LoopTest()
      : cluster(ClusterBuilder().Node(2).Build()),
        snapshot(cluster),
        estimator(cluster, journal),
        policy(journal),
        recorder(journal),
        loop(snapshot, policy, engine, estimator, recorder) {
    engine.journal = &journal;
  }

  static engine::Observation At(double now) {
    engine::Observation observation;
    observation.now = Seconds(now);
    return observation;
  }
  // A turn at which one more job is submitted, and started on that GPU.
  void SubmitAndStart(double now, std::size_t gpu) {
    const JobId id(snapshot.job_count());
    auto observation = At(now);
    observation.submitted.push_back(fixtures::JobOf({.submit = now}, id.index()));
    engine.Then(observation);
    core::Plan plan;
    plan.starts.push_back({id, OnGpus({gpu}), {}, {}});
    policy.plans.push_back(plan);
    engine.Answer({{id, Seconds(0), 1}});
    ASSERT_TRUE(loop.Turn().value());
  }
  // A turn at which nothing is wanted.
  void Tell(const engine::Observation& observation) {
    engine.Then(observation);
    ASSERT_TRUE(loop.Turn().value());
  }
  std::vector<std::pair<Change::Kind, JobId>> Seen() const {
    std::vector<std::pair<Change::Kind, JobId>> all;
    for (const Change& change : policy.seen) all.emplace_back(change.kind, change.job);
    return all;
  }

  core::Cluster cluster;
  core::Snapshot snapshot;
  Journal journal;
  fixtures::FakeEngine engine;
  FakeEstimator estimator;
  FakePolicy policy;
  FakeRecorder recorder;
  Loop loop;
};

using Kind = Change::Kind;

TEST_F(LoopTest, OneTurnObservesEstimatesDecidesChecksRecordsAndApplies) {
  SubmitAndStart(5, 1);
  EXPECT_THAT(journal, ElementsAre("observe", "estimate j0", "decide", "record", "apply"));
  EXPECT_EQ(recorder.waiting, 1U) << "recorded is the snapshot that was decided on";
  EXPECT_EQ(snapshot.now(), Seconds(5));
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kRunning);
  EXPECT_EQ(snapshot.job(JobId(0)).rate, 1) << "what the engine answered is taken over";
  EXPECT_EQ(engine.applied.size(), 1U);
}

TEST_F(LoopTest, EndsWhenTheEngineSaysSo) {
  const auto more = loop.Turn();
  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
  EXPECT_THAT(journal, ElementsAre("observe"));
}

TEST_F(LoopTest, ABadPlanIsRefusedAndNothingOfItApplied) {
  SubmitAndStart(0, 0);
  journal.clear();
  core::Plan bad;
  bad.stops.push_back({JobId(0), {}});
  bad.stops.push_back({JobId(0), {}});
  policy.plans.push_back(bad);
  engine.Then(At(1));
  const auto turn = loop.Turn();
  ASSERT_FALSE(turn);
  EXPECT_THAT(turn.error().message, HasSubstr("policy fake made a bad plan: stop of a job"));
  EXPECT_THAT(journal, ElementsAre("observe", "decide"));
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kRunning);
  EXPECT_EQ(engine.applied.size(), 1U);
}

TEST_F(LoopTest, WhatCannotBeRecordedIsNotDoneAndAskedAgain) {
  recorder.outcome = core::FailedError("the disk is full");
  auto submission = At(2);
  submission.submitted.push_back(fixtures::JobOf({.submit = 2}, 0));
  core::Plan plan;
  plan.starts.push_back({JobId(0), OnGpus({0}), {}, {}});
  policy.plans = {plan, plan};
  Tell(submission);
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kWaiting);
  EXPECT_TRUE(engine.applied.empty());
  recorder.outcome = {};
  Tell(At(3));
  EXPECT_EQ(engine.wakes.back(), Seconds(3));
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kRunning);
}

TEST_F(LoopTest, F5_APolicyWhosePlanWasRefusedBeginsAnew) {
  recorder.outcome = core::FailedError("the disk is full");
  auto submission = At(2);
  submission.submitted.push_back(fixtures::JobOf({.submit = 2}, 0));
  core::Plan plan;
  plan.starts.push_back({JobId(0), OnGpus({0}), {}, {}});
  policy.plans = {plan};
  Tell(submission);
  EXPECT_EQ(policy.memos, 2) << "the first one believes that the job was started";
  recorder.outcome = {};
  core::Plan bad;
  bad.starts.push_back({JobId(7), OnGpus({0}), {}, {}});
  policy.plans = {bad, bad, plan};
  for (const double now : {3.0, 4.0}) {
    engine.Then(At(now));
    EXPECT_FALSE(loop.Turn());
  }
  EXPECT_EQ(policy.memos, 4);
  Tell(At(6));
  EXPECT_THAT(engine.wakes, ElementsAre(std::nullopt, std::optional(Seconds(3)),
                                        std::optional(Seconds(4)), std::optional(Seconds(6))))
      << "after a second, and later each time";
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kRunning);
}

TEST_F(LoopTest, OneThatIsThereAlreadyTakesItsPlaceAndLeavesIt) {
  loop.Seat(fixtures::JobOf({}, 0), fixtures::EstimateOf({}, cluster), OnGpus({1}));
  EXPECT_EQ(snapshot.idle_gpus(), 1);
  Tell(At(1));
  EXPECT_THAT(Seen(), ElementsAre(std::pair(Kind::kSubmitted, JobId(0)),
                                  std::pair(Kind::kStarted, JobId(0))));
  loop.Unseat(JobId(0));
  Tell(At(2));
  EXPECT_EQ(snapshot.idle_gpus(), 2);
  EXPECT_THAT(Seen(), ElementsAre(std::pair(Kind::kFinished, JobId(0))));
}

TEST_F(LoopTest, ANodeThatJoinsIsThereWithTheNextTurnAndForAFreshMemo) {
  SubmitAndStart(0, 0);
  core::Node node;
  node.gpus = 2;
  node.model = core::GpuModelId(0);
  cluster.Add(node);
  loop.Grow();
  EXPECT_EQ(snapshot.idle_gpus(), 3);
  EXPECT_EQ(policy.memos, 2);
  SubmitAndStart(1, 3);
  EXPECT_EQ(snapshot.residents(core::GpuId(3)).count(), 1);
}

TEST_F(LoopTest, ARequeuedJobWaitsAgain) {
  SubmitAndStart(0, 0);
  auto back = At(5);
  back.requeued = {JobId(0)};
  Tell(back);
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kWaiting);
  EXPECT_EQ(snapshot.job(JobId(0)).restarts, 1);
}

TEST_F(LoopTest, ThePolicyHearsOfEveryChangeOnce) {
  SubmitAndStart(0, 0);
  EXPECT_THAT(Seen(), ElementsAre(std::pair(Kind::kSubmitted, JobId(0))));
  SubmitAndStart(1, 1);
  EXPECT_THAT(Seen(), ElementsAre(std::pair(Kind::kStarted, JobId(0)),
                                  std::pair(Kind::kSubmitted, JobId(1))));
  auto end = At(9);
  end.finished = {JobId(0)};
  Tell(end);
  EXPECT_THAT(Seen(), ElementsAre(std::pair(Kind::kStarted, JobId(1)),
                                  std::pair(Kind::kFinished, JobId(0))));
  Tell(At(10));
  EXPECT_THAT(Seen(), IsEmpty());
}

TEST_F(LoopTest, AJobThatRanOutOfMemoryWaitsAgain) {
  SubmitAndStart(0, 0);
  auto observation = At(10);
  observation.out_of_memory = {JobId(0)};
  Tell(observation);
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kWaiting);
  EXPECT_EQ(snapshot.job(JobId(0)).ooms, 1);
  EXPECT_EQ(snapshot.idle_gpus(), 2);
}

TEST_F(LoopTest, AFailedJobIsGone) {
  SubmitAndStart(0, 0);
  auto observation = At(10);
  observation.failed = {JobId(0)};
  Tell(observation);
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kFailed);
}

TEST_F(LoopTest, WhatWasProfiledIsMeasuredFromThenOn) {
  SubmitAndStart(0, 0);
  EXPECT_EQ(snapshot.job(JobId(0)).estimate.sources.busy, core::Source::kPredicted);
  auto observation = At(60);
  observation.profiled = {JobId(0)};
  Tell(observation);
  const auto& view = snapshot.job(JobId(0));
  EXPECT_TRUE(view.profiled);
  EXPECT_EQ(view.estimate.sources.busy, core::Source::kObserved);
  EXPECT_EQ(view.estimate.on[0].demand.busy, 0.125);
  EXPECT_THAT(Seen(), ::testing::Contains(std::pair(Kind::kProfiled, JobId(0))));
}

// Time goes on between the turn in which it was learnt and the decision: whoever waits has not
// tried beside that job since.
TEST_F(LoopTest, WhereMoreIsKnownOfSomebodyItIsTriedAgain) {
  SubmitAndStart(0, 0);
  Tell(At(10));
  EXPECT_NE(snapshot.changed(core::GpuId(0)), Seconds(10));
  loop.Learn(JobId(0), fixtures::EstimateOf({.busy = 0.25}, cluster), false);
  Tell(At(12));
  EXPECT_EQ(snapshot.changed(core::GpuId(0)), Seconds(12));
  Tell(At(13));
  EXPECT_EQ(snapshot.changed(core::GpuId(0)), Seconds(12)) << "once";
}

TEST_F(LoopTest, WhatHasToldOfItsStepIsBelievedFromThenOn) {
  SubmitAndStart(0, 0);
  auto observation = At(5);
  observation.told = {JobId(0)};
  Tell(observation);
  EXPECT_FALSE(snapshot.job(JobId(0)).profiled);
  EXPECT_EQ(snapshot.changed(core::GpuId(0)), Seconds(5));
  EXPECT_THAT(Seen(), ::testing::Contains(std::pair(Kind::kProfiled, JobId(0))));
}

TEST_F(LoopTest, AsksToBeWokenAsThePlanSays) {
  core::Plan plan;
  plan.wake_at = Seconds(77);
  policy.plans.push_back(plan);
  Tell(At(0));
  Tell(At(77));
  loop.Turn().value();
  EXPECT_THAT(engine.wakes, ElementsAre(std::nullopt, std::optional(Seconds(77)), std::nullopt));
}

TEST_F(LoopTest, AllThatAPlanSaysReachesTheSnapshot) {
  SubmitAndStart(0, 0);
  SubmitAndStart(0, 0);
  auto observation = At(3);
  for (std::size_t j : {2, 3, 4})
    observation.submitted.push_back(fixtures::JobOf({.gpus = j == 3 ? 0 : 1}, j));
  engine.Then(observation);
  core::Plan plan;
  plan.stops.push_back({JobId(0), {}});
  plan.moves.push_back({JobId(1), OnGpus({1}, 2), false, {}});
  plan.starts.push_back({JobId(2), OnGpus({0}), {}, {}});
  plan.starts.push_back({JobId(3), fixtures::OnNode(0, 1), {}, {}});
  plan.infeasible = {JobId(4)};
  policy.plans.push_back(plan);
  ASSERT_TRUE(loop.Turn().value());
  EXPECT_EQ(snapshot.job(JobId(0)).state, JobState::kWaiting);
  EXPECT_EQ(snapshot.job(JobId(1)).allocation, OnGpus({1}, 2));
  EXPECT_EQ(snapshot.job(JobId(2)).state, JobState::kRunning);
  EXPECT_EQ(snapshot.job(JobId(4)).state, JobState::kFailed);
  core::Plan second;
  second.resizes.push_back({JobId(1), 5, {}});
  second.throttles.push_back({JobId(3), 0.5, {}});
  policy.plans.push_back(second);
  Tell(At(4));
  EXPECT_EQ(snapshot.job(JobId(1)).allocation.cores, 5);
  EXPECT_EQ(snapshot.job(JobId(3)).throttle, 0.5);
}

// Says when to look and what is read, as a test scripts it.
class FakeReadings : public Readings {
 public:
  std::optional<Seconds> NextLook(const core::Snapshot&) override { return next; }
  std::vector<Standing> Read(const core::Snapshot&) override {
    ++looks;
    return standings;
  }
  void OnVerdict(const core::Snapshot&, std::span<const Standing>, const Verdict&) override {}
  std::optional<Seconds> next;
  std::vector<Standing> standings;
  int looks = 0;
};

class GuardedLoopTest : public LoopTest {
 protected:
  GuardedLoopTest() {
    SubmitAndStart(0, 0);
    SubmitAndStart(1, 0);
    loop.Watch(guard, readings);
    journal.clear();
  }
  // The second job breaks its bound beside the first: three steps a second instead of ten.
  void Slow() {
    guard = Guard({.settle = Seconds(1), .window = Seconds(6), .patience = Seconds(13)});
    for (int second = 0; second <= 20; ++second) {
      readings.standings.clear();
      for (const std::size_t j : {0, 1}) {
        Standing standing = StandingOf(snapshot, JobId(j), 1.25);
        standing.steps = second * (j == 1 ? 3 : 10);
        standing.steps_alone = 10;
        standing.left.reset();
        readings.standings.push_back(standing);
      }
      if (second < 20) guard.Look(Seconds(50 + second), readings.standings);
    }
    readings.next = Seconds(70);
  }
  // Time passes until then, and nothing happens.
  static engine::Observation Quiet(double now) {
    engine::Observation observation = At(now);
    observation.news = false;
    return observation;
  }

  Guard guard;
  FakeReadings readings;
};

TEST_F(GuardedLoopTest, ALookThatFindsNothingIsNotThePolicys) {
  readings.next = Seconds(60);
  Tell(Quiet(55));
  journal.clear();
  Tell(Quiet(60));
  EXPECT_EQ(engine.wakes.back(), Seconds(60));
  EXPECT_EQ(readings.looks, 1);
  EXPECT_THAT(journal, ElementsAre("observe"));
  Tell(At(61));
  EXPECT_THAT(journal, ElementsAre("observe", "observe", "decide", "record", "apply"))
      << "something happened";
}

TEST_F(GuardedLoopTest, AnEvictionIsAPlanThatIsCheckedRecordedAndApplied) {
  Tell(Quiet(55));
  Slow();
  journal.clear();
  const std::size_t applied = engine.applied.size();
  Tell(Quiet(69));  // now it knows when to look
  journal.clear();
  Tell(Quiet(70));
  EXPECT_THAT(journal, ElementsAre("observe", "record", "apply", "decide", "record", "apply"))
      << "then the policy decides on what is left";
  const core::Plan& evicts = engine.applied[applied + 1];
  ASSERT_EQ(evicts.stops.size(), 1U);
  EXPECT_TRUE(core::IsEviction(evicts.stops[0]));
  const auto& why = std::get<core::reason::Evicted>(evicts.stops[0].reason);
  EXPECT_EQ(why.slowed, JobId(1));
  EXPECT_NEAR(why.slowdown, 3.33, 0.1);
  EXPECT_EQ(why.bound, 1.25);
  const core::JobView& left = snapshot.job(evicts.stops[0].job);
  EXPECT_EQ(left.state, JobState::kWaiting);
  EXPECT_EQ(left.evictions, 1);
  EXPECT_FALSE(left.must_be_alone()) << "after the second one";
  EXPECT_THAT(Seen(), ::testing::Contains(std::pair(Kind::kStopped, left.job.id)));
}

TEST_F(GuardedLoopTest, AnEvictionThatCannotBeRecordedIsNotDone) {
  Tell(Quiet(55));
  Slow();
  Tell(Quiet(69));
  recorder.outcome = core::FailedError("the disk is full");
  Tell(Quiet(70));
  EXPECT_EQ(snapshot.running().size(), 2U);
  for (const std::size_t j : {0, 1}) EXPECT_EQ(snapshot.job(JobId(j)).evictions, 0);
}

TEST_F(GuardedLoopTest, WhoMayNotBeStoppedIsNotEvicted) {
  Tell(Quiet(55));
  Slow();
  for (Standing& standing : readings.standings) standing.may_leave = false;
  Tell(Quiet(69));
  Tell(Quiet(70));
  EXPECT_EQ(readings.looks, 1);
  EXPECT_EQ(snapshot.running().size(), 2U);
}

}  // namespace
}  // namespace sharewell::control
