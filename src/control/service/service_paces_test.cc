// What the service does with what the guard sees, on a clock that is played: who is evicted and how
// it is said, and time limits of jobs that shared.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using core::Seconds;
using engine::RunEvent;
using engine::RunId;
using ::testing::HasSubstr;

// A training loop: ten steps a second alone.
struct Training {
  double seconds = 100;  // that it takes alone
  double beside = 1;     // its speed with somebody beside it
  bool tells = true;
  bool tells_loss = false;
};

// One machine with one GPU: loops that tell their steps once a tick, and end by themselves or by
// their time limit.
class PlayedRunner final : public engine::Runner {
 public:
  Seconds Now() override { return now; }
  void Start(const engine::RunRequest& request) override {
    runs[request.id] = {request, now, {}, 0};
    events_.push_back(engine::RunStarted{request.id});
  }
  void Stop(RunId id, const engine::StopOrder&) override {
    if (runs.contains(id)) End(id, {.exit_code = 143, .stopped = true});
  }
  void Change(RunId id, const engine::RunBounds& bounds) override {
    if (bounds.time_limit) runs.at(id).limit = bounds.time_limit;
  }
  std::vector<engine::RunRequest> Recover() override {
    std::vector<engine::RunRequest> found;
    for (const auto& [id, run] : runs) {
      found.push_back(run.request);
      events_.push_back(engine::RunStarted{id});
    }
    return found;
  }
  bool Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) override {
    if (events_.empty() && until.value_or(now + tick) > now) {
      if (runs.empty() && !until) return false;  // nothing ever happens
      Pass();
    }
    out.swap(events_);
    events_.clear();
    return true;
  }
  void Wake() override {}
  void Forget(RunId) override {}

  std::map<std::int64_t, Training> loops;  // by job
  struct Run {
    engine::RunRequest request;
    Seconds began;
    std::optional<Seconds> limit;  // as the server changed it
    double done = 0;               // seconds alone
  };
  std::map<RunId, Run> runs;
  Seconds now{1000};
  Seconds tick{1};  // between two tellings

 private:
  void End(RunId id, engine::RunEnd end) {
    end.ran = now - runs.at(id).began;
    events_.push_back(engine::RunEnded{id, end});
    runs.erase(id);
  }
  void Pass() {
    now += tick;
    const bool together = runs.size() > 1;
    std::vector<RunId> over, late;
    for (auto& [id, run] : runs) {
      const Training& loop = loops[id.job];
      run.done += (together ? loop.beside : 1) * tick.value;
      if (loop.tells) events_.push_back(engine::RunProgress{id, run.done * 10});
      if (loop.tells_loss) {
        const auto at = static_cast<core::UnixMillis>(1.9e12 + now.value * 1e3);
        events_.push_back(engine::RunMetrics{
            id, {{"loss", at, 1 / run.done, static_cast<std::int64_t>(run.done)}}});
      }
      const auto limit = run.limit ? run.limit : run.request.asked.time_limit;
      if (run.done >= loop.seconds) {
        over.push_back(id);
      } else if (limit && now - run.began >= *limit) {
        late.push_back(id);
      }
    }
    for (const RunId& id : over) End(id, {});
    for (const RunId& id : late) End(id, {.exit_code = 143, .timed_out = true});
  }

  std::vector<RunEvent> events_;
};

// Two on the GPU, whoever they are, unless one is to be alone.
class TwoPolicy final : public policy::Policy {
 public:
  const std::string& Name() const override { return name_; }
  std::unique_ptr<policy::Memo> NewMemo() const override {
    return std::make_unique<policy::Memo>();
  }
  core::Plan Decide(const core::Snapshot& snapshot, std::span<const core::Change>,
                    policy::Memo&) const override {
    core::Plan plan;
    std::vector<core::JobId> waiting(snapshot.waiting().begin(), snapshot.waiting().end());
    std::sort(waiting.begin(), waiting.end());
    const auto there = snapshot.residents(core::GpuId(0)).jobs();
    bool alone = std::any_of(there.begin(), there.end(),
                             [&](core::JobId id) { return snapshot.job(id).must_be_alone(); });
    std::size_t count = there.size();
    for (const core::JobId id : waiting) {
      const bool exclusive = snapshot.job(id).must_be_alone();
      if (count >= 2 || alone || (exclusive && count > 0)) {
        plan.waits.push_back({id, core::reason::Order{}});
        continue;
      }
      ++count;
      alone = exclusive;
      plan.starts.push_back({id, fixtures::OnGpus({0}, 1), {}, core::reason::Order{}});
    }
    return plan;
  }

 private:
  std::string name_ = "two";
};

class PlayedClock final : public Clock {
 public:
  explicit PlayedClock(PlayedRunner& runner) : runner_(runner) {}
  core::UnixMillis Wall() override {
    return 1'700'000'000'000 + static_cast<core::UnixMillis>(runner_.now.value * 1e3);
  }
  std::chrono::nanoseconds Steady() override {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(runner_.now.value * 1e9));
  }

 private:
  PlayedRunner& runner_;
};

// Counts how often it is told that a job has taken steps.
class CountsLooks final : public JobMonitor {
 public:
  void Began(const core::JobRecord&) override {}
  void Ended(std::int64_t) override {}
  void Stepped(std::int64_t number) override { ++stepped[number]; }
  core::Profile Seen(std::int64_t) override { return {}; }
  JobReading Now(std::int64_t, const std::string&) override { return {}; }

  std::map<std::int64_t, int> stepped;
};

class ServicePacesTest : public testing::Test {
 protected:
  ServicePacesTest() { Begin(); }
  void Begin() {
    service_.reset();
    GpuView gpu;
    gpu.gpu = {0, "GPU-0", "V100"};
    ServiceOptions options;
    options.clock = &clock_;
    options.limits.projects = projects_;
    service_ = std::make_unique<Service>(cluster_, std::vector<GpuView>{gpu}, runner_, advisor_,
                                         jobs_, options, &monitor_);
    ASSERT_TRUE(service_->Open());
  }
  void Submit(const Training& loop, std::optional<Seconds> limit = {},
              const core::Account& who = kAnn) {
    runner_.loops[++submitted_] = loop;
    core::Submission job;
    job.command = {"train"};
    job.gpus = 1;
    job.time_limit = limit;
    service_->Submit({job}, who,
                     [](const core::Result<std::vector<JobPtr>>& told) { EXPECT_TRUE(told); });
  }
  void Run(double seconds) {
    const Seconds end = runner_.now + Seconds(seconds);
    while (runner_.now < end && service_->Turn()) {
    }
  }
  core::JobRecord Job(std::int64_t number) { return *service_->board().Find(number); }

  core::Cluster cluster_ = fixtures::ClusterBuilder().Node(1).Cores(8).Build();
  PlayedRunner runner_;
  PlayedClock clock_{runner_};
  MemoryJobs jobs_;
  PlainAdvisor advisor_{std::make_unique<TwoPolicy>()};
  core::Projects projects_;
  CountsLooks monitor_;
  std::unique_ptr<Service> service_;
  std::int64_t submitted_ = 0;
};

TEST_F(ServicePacesTest, TheMonitorIsToldWhenAJobTakesSteps) {
  Submit({100, 1, true});
  Submit({100, 1, false});
  Run(60);
  EXPECT_GT(monitor_.stepped[1], 50);
  EXPECT_EQ(monitor_.stepped[2], 0) << "it tells of none";
}

TEST_F(ServicePacesTest, ItIsLookedAtHoweverOftenSomethingHappens) {
  runner_.tick = Seconds(0.25);
  Submit({60, 1});
  Run(20);
  EXPECT_NEAR(Job(1).steps_per_second.value_or(0), 10, 0.1);
}

TEST_F(ServicePacesTest, ItsSpeedIsKeptOverItsLifeWithWhoWasBesideIt) {
  Submit({200, 0.9});
  Run(60);
  EXPECT_NEAR(Job(1).steps_per_second.value(), 10, 0.1);
  Submit({20, 0.9});
  Run(60);
  const auto live = service_->Speed(1);
  ASSERT_TRUE(live);
  EXPECT_NEAR(live->points().front().PerSecond(), 10, 0.1);
  EXPECT_NEAR(live->points().at(70).PerSecond(), 9, 0.1) << "beside the other";
  ASSERT_EQ(live->beside().size(), 3U);
  EXPECT_THAT(live->beside()[1].jobs, testing::ElementsAre(2));
  EXPECT_TRUE(live->beside()[2].jobs.empty());
  Run(200);
  const core::JobRecord job = Job(1);
  ASSERT_EQ(job.phase, Phase::kFinished);
  const core::SpeedHistory stored = jobs_.speeds.at(1);
  EXPECT_EQ(stored.PerSecond(), job.steps_per_second) << "its mean, once it is over";
  EXPECT_GT(job.steps_per_second.value(), 9.7);
  EXPECT_LT(job.steps_per_second.value(), 9.95);
  EXPECT_FALSE(service_->Speed(1)) << "the store has it";
}

TEST_F(ServicePacesTest, ASpeedOutlivesAServerThatIsKilled) {
  Submit({300, 1});
  Run(150);
  ASSERT_TRUE(jobs_.speeds.contains(1)) << "stored now and then";
  EXPECT_LT(jobs_.speeds.at(1).points().size(), 149U);
  Begin();
  Run(200);
  ASSERT_EQ(Job(1).phase, Phase::kFinished);
  const core::SpeedHistory& stored = jobs_.speeds.at(1);
  double steps = 0;
  for (const core::SpeedPoint& point : stored.points()) steps += point.steps;
  EXPECT_NEAR(steps, 2990, 15) << "not one is lost";
  EXPECT_NEAR(Job(1).steps_per_second.value(), 10, 0.1);
  EXPECT_LE(stored.points().size(), core::SpeedHistory::kMostPoints);
}

TEST_F(ServicePacesTest, ItsSpeedIsKnownWhereItEndsAsSoonAsTheNextServerIsThere) {
  Submit({100, 1});
  Run(99);
  ASSERT_TRUE(jobs_.speeds.contains(1));
  Begin();
  Run(5);
  ASSERT_EQ(Job(1).phase, Phase::kFinished);
  EXPECT_NEAR(Job(1).steps_per_second.value_or(0), 10, 0.1);
}

TEST_F(ServicePacesTest, WhatItTellsOfItselfIsKeptWithoutStepsAndOverAServer) {
  Submit({200, 1, false, true});
  Run(50);
  const auto live = service_->Speed(1);
  ASSERT_TRUE(live);
  ASSERT_EQ(live->metrics().all().size(), 1U);
  EXPECT_NEAR(live->metrics().all()[0].last.value, 0.02, 0.001);
  Run(50);
  ASSERT_TRUE(jobs_.speeds.contains(1)) << "stored now and then";
  Begin();
  Run(150);
  ASSERT_EQ(Job(1).phase, Phase::kFinished);
  const auto& loss = jobs_.speeds.at(1).metrics().all().at(0);
  EXPECT_EQ(loss.last.step, 200);
  EXPECT_GE(loss.points.points().size(), 60U);
  EXPECT_EQ(loss.points.points().front().value, 0.75) << "the mean of its first two";
  EXPECT_TRUE(jobs_.speeds.at(1).points().empty());
}

TEST_F(ServicePacesTest, WhereNoStepsAreToldThereIsNoSpeed) {
  Submit({30, 1, false});
  Run(60);
  ASSERT_EQ(Job(1).phase, Phase::kFinished);
  EXPECT_FALSE(Job(1).steps_per_second);
  EXPECT_TRUE(jobs_.speeds.empty());
}

TEST_F(ServicePacesTest, AStoreThatIsDownBeginsNoHistoryAnew) {
  Submit({300, 1});
  Run(150);
  jobs_.unreadable = true;
  const auto before = jobs_.speeds.at(1);
  Begin();
  Run(60);
  EXPECT_EQ(jobs_.speeds.at(1), before);
  jobs_.unreadable = false;
  Run(200);
  ASSERT_EQ(Job(1).phase, Phase::kFinished);
  EXPECT_EQ(jobs_.speeds.at(1).points().front().from, before.points().front().from);
}

TEST_F(ServicePacesTest, AJobThatSharedIsNotEndedByItsTimeLimit) {
  Submit({130, 1 / 1.3}, Seconds(140));
  Run(40);
  Submit({1000, 0.9});
  Run(60);
  EXPECT_NEAR(*Job(1).slowdown, 1.3, 0.02);
  const Seconds told = runner_.runs.at({1, 1}).limit.value_or(Seconds(0));
  EXPECT_GT(told, Seconds(145));
  Run(80);
  EXPECT_EQ(Job(1).phase, Phase::kFinished) << Job(1).note;
  EXPECT_NEAR(Job(1).limit_extended.value, 117 * (1 - 1 / 1.3), 6);
  EXPECT_GT(Job(1).run_time, Seconds(150));
}

TEST_F(ServicePacesTest, AJobThatWasAloneIsEndedByItsTimeLimit) {
  Submit({130, 1}, Seconds(100));
  Run(110);
  EXPECT_EQ(Job(1).phase, Phase::kFailed);
  EXPECT_EQ(Job(1).note, "its time limit (100 s) is over");
  EXPECT_EQ(Job(1).limit_extended, Seconds(0));
}

TEST_F(ServicePacesTest, NobodyExtendsALimitForEverByClaimingToBeSlow) {
  Submit({1000, 0.75}, Seconds(100));  // slower than it is slowed: it wants more time
  Run(30);
  Submit({1000, 1});
  Run(150);
  EXPECT_EQ(Job(1).phase, Phase::kFailed);
  EXPECT_THAT(Job(1).note, HasSubstr("because it shared) is over"));
  EXPECT_LE(Job(1).run_time, Seconds(100 * 1.375 + 1));
}

TEST_F(ServicePacesTest, AnExtendedLimitOutlivesTheServer) {
  Submit({200, 0.8, false}, Seconds(150));  // it tells nothing: it may have lost what it bears
  Submit({1000, 0.9});
  Run(100);
  const Seconds extended = Job(1).limit_extended;
  EXPECT_GT(extended, Seconds(20));
  Begin();
  EXPECT_GT(Job(1).limit_extended, extended - Seconds(11)) << "as stored";
  Run(30);
  EXPECT_GT(runner_.runs.at({1, 1}).limit.value_or(Seconds(0)), Seconds(150) + extended);
}

TEST_F(ServicePacesTest, WhoIsEvictedIsToldWhyAndAfterTwoTimesRunsAlone) {
  Submit({400, 0.4});
  Run(40);
  Submit({300, 1}, {}, kAnn);
  Run(25);
  EXPECT_EQ(Job(2).evicted, 1);
  EXPECT_THAT(Job(2).note, HasSubstr("it was evicted: job 1 of ann beside it takes 2.50 times as "
                                     "long as alone (by its steps), and its bound is 1.25"));
  EXPECT_THAT(Job(2).note, HasSubstr("it goes back into the queue"));
  Run(60);  // this policy learns nothing
  EXPECT_EQ(Job(2).evicted, 2);
  EXPECT_THAT(Job(2).note, HasSubstr("has its GPUs to itself from now on"));
  Run(100);
  EXPECT_EQ(Job(2).phase, Phase::kWaiting);
  EXPECT_EQ(Job(2).evicted, 2);
  Run(500);
  EXPECT_EQ(Job(1).phase, Phase::kFinished);
  EXPECT_EQ(Job(2).attempt, 3);
}

TEST_F(ServicePacesTest, AProjectBelowItsShareTakesItsGpuBack) {
  projects_ = core::WithDefault({{"vision", 1, {"bob"}, true}});
  policy::Options options;
  options.project_shares = core::SharesOf(projects_);
  options.projects_reclaim = true;
  const auto slot = fixtures::MakePolicy("slot", options);
  advisor_.Follow(*slot);
  Begin();
  Submit({2000, 1});
  Run(100);
  Submit({100, 1}, {}, kBob);
  Run(480);
  EXPECT_EQ(Job(1).phase, Phase::kRunning) << "it has run for less than ten minutes";
  EXPECT_EQ(Job(2).phase, Phase::kWaiting);
  Run(40);
  EXPECT_EQ(Job(2).phase, Phase::kRunning) << "and nothing happened but that time passed";
  EXPECT_EQ(Job(1).phase, Phase::kWaiting);
  EXPECT_EQ(Job(1).evicted, 0);
  const std::string why =
      "it gave its place to job 2, whose project was below its share of the GPUs; it goes back "
      "into the queue";
  EXPECT_EQ(Job(1).note, why);
  EXPECT_EQ(jobs_.jobs.at(1).note, why) << "as stored";
  Run(100);
  EXPECT_EQ(Job(2).phase, Phase::kFinished);
  EXPECT_EQ(Job(1).phase, Phase::kRunning);
  EXPECT_EQ(Job(1).attempt, 2);
  Submit({100, 1}, {}, kBob);
  Run(1100);
  EXPECT_EQ(Job(3).phase, Phase::kWaiting) << "the second time it is left alone twice as long";
  Run(400);
  EXPECT_EQ(Job(3).phase, Phase::kFinished);
  service_.reset();
}

TEST_F(ServicePacesTest, F20_AnotherUsersJobIsNotEvictedByWordsAlone) {
  Submit({4000, 0.4});
  Run(40);
  Submit({3000, 1}, {}, kBob);
  Run(30);
  EXPECT_EQ(Job(2).evicted, 0);
  EXPECT_EQ(Job(1).evicted, 1) << "who is slow goes elsewhere";
  EXPECT_THAT(Job(1).note, HasSubstr("it was evicted: it beside job 2 of bob takes 2.50 times"));
}

// A loop of ten steps a second, of which more was predicted.
core::Needs Predicted(double steps_per_second) {
  core::Needs needs;
  needs.sources = core::Sources::All(core::Source::kPredicted);
  needs.profile.gpu = "V100";
  needs.profile.steps_per_second = steps_per_second;
  return needs;
}

TEST_F(ServicePacesTest, U2_AWrongPredictionIsNoFaultOfTheNeighbours) {
  advisor_.needs = Predicted(18);
  Submit({250, 1});
  Submit({250, 1});
  Run(240);  // beyond the guard's patience
  for (const std::int64_t number : {1, 2}) {
    EXPECT_EQ(Job(number).evicted, 0);
    EXPECT_FALSE(Job(number).slowdown);
    EXPECT_FALSE(Job(number).alone) << "they were never alone";
    EXPECT_NEAR(Job(number).steps_per_second.value(), 10, 0.1);
    EXPECT_EQ(core::SlowerInWords(Job(number)), "44 % slower than predicted");
  }
  Run(20);
  EXPECT_EQ(Job(1).phase, Phase::kFinished);
  EXPECT_FALSE(Job(1).alone_time) << "not its steps over what was predicted";
  EXPECT_EQ(Job(1).run_time, Seconds(250));
  EXPECT_TRUE(advisor_.shared.empty()) << "no pair was measured";
  ASSERT_EQ(advisor_.profiles.size(), 2U);
  EXPECT_FALSE(advisor_.profiles[0].steps_per_second);
}

TEST_F(ServicePacesTest, U2_WhatWasNeverBesideAnybodyTookWhatItTookAlone) {
  advisor_.needs = Predicted(18);
  Submit({80, 1});
  Run(90);
  EXPECT_NEAR(Job(1).alone_time.value().value, 80, 1.5);
  EXPECT_NEAR(advisor_.profiles.at(0).steps_per_second.value(), 10, 0.1);
  EXPECT_GT(Job(1).alone.value().over, Seconds(50));
}

TEST_F(ServicePacesTest, U2_ARateAloneIsSeenWhenTheNeighbourEndsAndOutlivesTheServer) {
  advisor_.needs = Predicted(18);
  Submit({400, 0.8});
  Submit({40, 1});
  Run(35);
  EXPECT_FALSE(Job(1).slowdown);
  Run(40);  // job 2 has ended
  ASSERT_TRUE(Job(1).alone);
  EXPECT_NEAR(Job(1).alone->steps_per_second, 10, 0.1);
  EXPECT_NEAR(Job(1).slowdown.value(), 1, 0.01);
  EXPECT_EQ(core::SlowerInWords(Job(1)), "");
  Submit({300, 1});
  Run(40);
  EXPECT_NEAR(Job(1).slowdown.value(), 1.25, 0.02);
  EXPECT_FALSE(Job(3).slowdown) << "that one was never seen alone";
  EXPECT_TRUE(advisor_.shared.empty()) << "half a pair that keeps its bounds is none";
  Begin();
  ASSERT_TRUE(Job(1).alone) << "as stored";
  Run(40);
  EXPECT_NEAR(Job(1).slowdown.value(), 1.25, 0.02);
}

TEST_F(ServicePacesTest, U2_WhoWasSeenAloneIsStillProtected) {
  advisor_.needs = Predicted(12);
  Submit({400, 0.4});
  Run(40);
  Submit({300, 1});
  Run(25);
  EXPECT_EQ(Job(2).evicted, 1);
  ASSERT_EQ(advisor_.shared.size(), 1U);
  const core::SharedRun& pair = advisor_.shared[0];
  EXPECT_NEAR(pair.speed_a.value_or(0), 0.4, 0.02);
  EXPECT_FALSE(pair.speed_b) << "nobody has seen the other alone";
  EXPECT_GE(pair.over, Seconds(6));
}

TEST_F(ServicePacesTest, U3_NothingIsLearntOfThePaceOfASilentJob) {
  advisor_.needs = Predicted(20.4);
  Submit({60, 1, false});
  Submit({60, 1, false});
  Run(70);
  ASSERT_EQ(advisor_.profiles.size(), 2U);
  for (const core::Profile& seen : advisor_.profiles) EXPECT_FALSE(seen.steps_per_second);
  EXPECT_TRUE(advisor_.shared.empty());
}

}  // namespace
}  // namespace sharewell::control
