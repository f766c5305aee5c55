// What holds for any runner behind the live engine: for processes on one machine (StubRunner) and
// for a cluster's manager that refuses, and answers late, twice, in another order or not at all
// (FakeRunner); for Slurm's and for Kubernetes', over clusters that are played (FakeSlurm,
// FakeKube).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "testing/fake_kube.h"
#include "testing/fake_slurm.h"
#include "testing/runner_history.h"
#include "testing/sanitized.h"

namespace sharewell::engine {
namespace {

using core::GpuId;
using core::JobId;
using core::JobState;
using core::Seconds;
using fixtures::FakeRunner;
using fixtures::FakeRunnerOptions;
using fixtures::FakeSide;
using fixtures::RunnerHistory;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kJobs = 30;
constexpr std::uint64_t kHistories =
    fixtures::kSanitized ? 30 : 60;  // `make soak` runs all of them

enum class Kind { kStub, kCalm, kLate, kLossy, kSlurm, kFaultySlurm, kKube, kFaultyKube };

FakeRunnerOptions OptionsOf(Kind kind, std::uint64_t seed) {
  FakeRunnerOptions options;
  options.seed = seed;
  options.fail = 0.2;
  if (kind == Kind::kCalm) return options;
  options.refuse = 0.1;
  options.keep = 0.3;
  options.twice = 0.2;
  options.late = 0.4;
  options.list_every = Seconds(30);
  if (kind == Kind::kLate) return options;
  options.lose = 0.2;
  options.lose_command = 0.1;
  return options;
}

class RunnerContract : public ::testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<RunnerHistory> History(std::uint64_t seed, int nodes = 3) {
    std::unique_ptr<fixtures::RunnerSide> side;
    if (GetParam() == Kind::kStub) {
      side = std::make_unique<fixtures::StubSide>(seed, kJobs);
    } else if (IsSlurm()) {
      const double faults = GetParam() == Kind::kFaultySlurm ? 0.1 : 0;
      side = std::make_unique<fixtures::SlurmSide>(nodes, seed, faults);
    } else if (IsKube()) {
      const double faults = GetParam() == Kind::kFaultyKube ? 0.1 : 0;
      side = std::make_unique<fixtures::KubeSide>(nodes, seed, faults);
    } else {
      side = std::make_unique<FakeSide>(nodes, OptionsOf(GetParam(), seed));
    }
    return std::make_unique<RunnerHistory>(std::move(side), seed, nodes);
  }
  static bool IsSlurm() { return GetParam() == Kind::kSlurm || GetParam() == Kind::kFaultySlurm; }
  static bool IsKube() { return GetParam() == Kind::kKube || GetParam() == Kind::kFaultyKube; }
  // Clusters are looked at all the while: a history of one takes longer.
  static std::uint64_t Histories() { return kHistories / (IsSlurm() ? 5 : IsKube() ? 15 : 1); }
  // Those of a simulated world come by themselves.
  static void Submit(RunnerHistory& history, int gpus, int count) {
    for (int i = 0; i < count && GetParam() != Kind::kStub; ++i) history.Submit(gpus);
  }
};

TEST_P(RunnerContract, NobodyIsLostRunTwiceOrOverCommitted) {
  std::size_t kept = 0;
  for (std::uint64_t seed = 1; seed <= Histories(); ++seed) {
    const auto history = History(seed);
    history->Live(kJobs, false);
    ASSERT_EQ(history->wrong(), "") << "history " << seed;
    kept += history->kept();
  }
  const bool keeps = GetParam() == Kind::kLate || GetParam() == Kind::kLossy;
  EXPECT_EQ(kept > kHistories / 3, keeps) << kept << " stops were refused";
}

TEST_P(RunnerContract, F13_NobodyIsLostWhenIdsAreGivenAnew) {
  if (GetParam() == Kind::kStub) GTEST_SKIP() << "its jobs come by themselves, under ids of theirs";
  std::size_t fewest = kJobs;
  for (std::uint64_t seed = 1; seed <= Histories(); ++seed) {
    const auto history = History(seed);
    history->renumber = 0.3;
    history->Live(kJobs, seed % 2 == 0);
    ASSERT_EQ(history->wrong(), "") << "history " << seed;
    fewest = std::min(fewest, history->snapshot().job_count());
  }
  EXPECT_LT(fewest, kJobs / 2) << "those that are over were forgotten";
}

// Answers about nodes that overtake each other are put right by the next list.
TEST_P(RunnerContract, NodesAndGpusThatComeAndGoLoseNobody) {
  std::size_t grown = 0;
  for (std::uint64_t seed = 1; seed <= Histories(); ++seed) {
    const auto history = History(seed);
    history->Live(kJobs, true);
    ASSERT_EQ(history->wrong(), "") << "history " << seed;
    grown += history->cluster().nodes().size() - 3;
  }
  EXPECT_GT(grown, Histories() / 6) << "nodes joined";
}

TEST_P(RunnerContract, TheSameTwice) {
  const auto first = History(7), second = History(7);
  first->Live(kJobs, true);
  second->Live(kJobs, true);
  EXPECT_EQ(first->wrong(), "");
  EXPECT_EQ(first->audit.started(), second->audit.started());
  EXPECT_EQ(first->audit.Now(), second->audit.Now());
}

TEST_P(RunnerContract, ARefusedStartGoesBackIntoTheQueueWithItsReason) {
  const auto history = History(3);
  Submit(*history, 1, 1);
  history->audit.RefuseNext(3);
  ASSERT_TRUE(history->Comes(200, [&] { return history->refusals().size() >= 3; }));
  EXPECT_THAT(std::vector(history->refusals().begin(), history->refusals().begin() + 3),
              Each(HasSubstr("licence")));
  EXPECT_TRUE(history->Comes(2000, [&] { return history->over() >= 1; }));
  EXPECT_EQ(history->wrong(), "");
}

TEST_P(RunnerContract, ANodeThatGoesIsLeftAndUsedAgainWhenItComes) {
  const auto history = History(5, 1);
  Submit(*history, 2, 3);
  const auto& snapshot = history->snapshot();
  ASSERT_TRUE(history->Comes(500, [&] { return !snapshot.running().empty(); }));
  history->NodeGoes(0);
  ASSERT_TRUE(history->Comes(200, [&] { return history->down(0); }));
  ASSERT_TRUE(history->Comes(200, [&] { return snapshot.running().empty(); }));
  const std::size_t starts = history->audit.started().size();
  for (int i = 0; i < 5; ++i) {
    history->Observe(1);
    history->Decide(1, 0, 0);
  }
  EXPECT_EQ(history->audit.started().size(), starts) << "nothing is started there";
  history->NodeComes(0);
  EXPECT_TRUE(history->Comes(200, [&] { return history->audit.started().size() > starts; }));
}

TEST_P(RunnerContract, ANewNodeIsUsed) {
  const auto history = History(11, 1);
  Submit(*history, 2, 20);
  history->NodeComes(1);
  ASSERT_TRUE(history->Comes(200, [&] { return history->cluster().nodes().size() == 2; }));
  EXPECT_TRUE(
      history->Comes(500, [&] { return history->snapshot().residents(GpuId(2)).count() > 0; }));
}

std::string NameOf(const ::testing::TestParamInfo<Kind>& one) {
  const char* names[] = {"Stub",  "Calm",        "Late", "Lossy",
                         "Slurm", "FaultySlurm", "Kube", "FaultyKube"};
  return names[static_cast<int>(one.param)];
}

INSTANTIATE_TEST_SUITE_P(Runners, RunnerContract,
                         ::testing::Values(Kind::kStub, Kind::kCalm, Kind::kLate, Kind::kLossy,
                                           Kind::kSlurm, Kind::kFaultySlurm, Kind::kKube,
                                           Kind::kFaultyKube),
                         NameOf);

// A manager that can be made silent. What was lost is found within one list.
class SilentManager : public ::testing::Test {
 protected:
  static constexpr double kWithin = 31;  // a list every 30 s, and up to half a second on its way

  explicit SilentManager(double seconds = 5) {
    FakeRunnerOptions options;
    options.shortest = options.longest = Seconds(seconds);
    options.list_every = Seconds(30);
    auto side = std::make_unique<FakeSide>(1, options);
    fake_ = &side->fake;
    history_ = std::make_unique<RunnerHistory>(std::move(side), 1, 1);
  }
  void Start() {
    history_->Submit(1);
    history_->Observe(0);
    history_->Decide(1, 0, 0);
  }
  bool Over(double within) {
    return history_->Comes(within, [&] { return history_->over() == 1; });
  }

  FakeRunner* fake_ = nullptr;  // the history's
  std::unique_ptr<RunnerHistory> history_;
};

class SilentManagerOfLongRuns : public SilentManager {
 protected:
  SilentManagerOfLongRuns() : SilentManager(1e6) {}
};

TEST_F(SilentManager, AnEndThatWasNotToldIsFound) {
  fake_->SetLoss(0, 1);
  Start();
  history_->Observe(10);
  EXPECT_EQ(history_->over(), 0U);
  fake_->SetLoss(0, 0);
  EXPECT_TRUE(Over(kWithin));
  EXPECT_EQ(history_->snapshot().job(JobId(0)).state, JobState::kFinished);
  EXPECT_EQ(fake_->began().at(1), 1) << "it was not run again";
}

TEST_F(SilentManager, AStartThatNeverArrivedGoesBackIntoTheQueue) {
  fake_->SetLoss(1, 0);
  Start();
  fake_->SetLoss(0, 0);
  EXPECT_TRUE(history_->Comes(kWithin, [&] { return !history_->refusals().empty(); }));
  EXPECT_THAT(history_->refusals(), ElementsAre("its start never arrived"));
  EXPECT_TRUE(Over(20));
  EXPECT_EQ(fake_->began().at(1), 1);
}

TEST_F(SilentManagerOfLongRuns, AStopThatNeverArrivedIsSaidAgain) {
  Start();
  ASSERT_TRUE(history_->Comes(2, [&] { return fake_->began().contains(1); }));
  fake_->SetLoss(1, 1);
  history_->engine.Cancel(JobId(0));
  history_->Observe(1);
  fake_->SetLoss(0, 0);
  EXPECT_TRUE(Over(kWithin + 20)) << "and its grace";
  EXPECT_EQ(history_->snapshot().job(JobId(0)).state, JobState::kFailed);
}

TEST_F(SilentManagerOfLongRuns, ARunThatNobodyKnowsIsEnded) {
  RunRequest stray;
  stray.id = {99, 1};
  stray.nodes = {"n0"};
  fake_->Start(stray);
  history_->Observe(10);
  EXPECT_FALSE(fake_->quiet());
  EXPECT_TRUE(history_->Comes(60, [&] { return fake_->quiet(); }));
}

// Pauses by plans, some refused, of runs that are also stopped, moved and cancelled meanwhile.
// Where answers are lost nothing is paused: nobody finds those again.
TEST(Pauses, NobodyIsLostWhenRunsArePaused) {
  std::size_t resumed = 0;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    FakeRunnerOptions options = OptionsOf(Kind::kCalm, seed);
    options.refuse_pause = 0.2;
    RunnerHistory history(std::make_unique<FakeSide>(3, options), seed, 3);
    history.pause = 0.1;
    history.Live(kJobs, seed % 2 == 0);
    ASSERT_EQ(history.wrong(), "") << "history " << seed;
    resumed += history.resumed();
  }
  EXPECT_GT(resumed, 10 * kHistories);
}

TEST(Adoption, AnotherEngineGoesOnWithWhatRuns) {
  const core::Cluster cluster = fixtures::ClusterOf(1);
  const auto gpus = fixtures::NodeOf(0).gpus;
  FakeRunnerOptions options = OptionsOf(Kind::kLate, 4);
  options.refuse = options.fail = 0;
  FakeRunner fake(fixtures::NodesOf(1), options);
  Observation seen;
  {
    LiveEngine first(cluster, gpus, fake);
    core::Plan plan;
    for (std::size_t i = 0; i < 2; ++i) {
      core::Job job;
      job.id = JobId(i);
      first.Submit(job, fixtures::StubRunner::RequestOf(job));
      plan.starts.push_back({job.id, fixtures::OnGpus({i}), {}, {}});
    }
    first.Observe(fake.Now(), seen);
    first.Apply(plan, seen);
  }
  fake.SetLoss(0, 0.5);
  LiveEngine second(cluster, gpus, fake);
  const std::vector<RunRequest> runs = fake.Recover();
  ASSERT_EQ(runs.size(), 2U);
  for (std::size_t i = 0; i < runs.size(); ++i) second.Adopt(JobId(i), runs[i], runs[i]);
  std::size_t finished = 0;
  while (finished < runs.size() && fake.Now() < Seconds(1000)) {
    second.Observe(fake.Now() + Seconds(5), seen);
    finished += seen.finished.size();
    EXPECT_TRUE(seen.failed.empty());
    EXPECT_TRUE(seen.requeued.empty());
  }
  EXPECT_EQ(finished, runs.size());
  for (const RunRequest& run : runs) EXPECT_EQ(fake.began().at(run.id.job), 1);
}

}  // namespace
}  // namespace sharewell::engine
