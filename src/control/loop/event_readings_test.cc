#include "control/loop/event_readings.h"

#include <gmock/gmock.h>

#include <map>

#include "testing/builders.h"

namespace sharewell::control {
namespace {

using core::GpuId;
using core::JobId;
using core::Seconds;
using fixtures::JobSpec;
using fixtures::OnGpus;

// Jobs that step at rates of their own, exactly.
class PlayedSteps : public engine::StepSource {
 public:
  Seconds FirstStep(JobId job) const override { return jobs.at(job).first_step; }
  std::optional<double> Steps(JobId job, Seconds at) const override {
    const Played& played = jobs.at(job);
    if (at < played.first_step) return std::nullopt;
    return (at - played.first_step).value * played.rate;
  }
  std::optional<core::Ratio> Sm(JobId job, Seconds) const override {
    return 0.5 * jobs.at(job).rate * static_cast<double>(jobs.size());
  }
  struct Played {
    double rate = 1;
    Seconds first_step;
  };
  std::map<JobId, Played> jobs;
};

class EventReadingsTest : public ::testing::Test {
 protected:
  // A job that comes onto that GPU now, as the policy planned it.
  JobId Comes(std::size_t gpu, double rate, core::Source source, double first_step = 0) {
    const JobId id = snapshot_.Waiting({.seconds = 10000});
    core::Estimate estimate = snapshot_->job(id).estimate;
    estimate.sources = core::Sources::All(source);
    snapshot_->SetEstimate(id, estimate, false);
    core::Plan plan;
    plan.starts.push_back({id, OnGpus({gpu}), {}, {}});
    readings_.BeforePlan(*snapshot_, plan);
    snapshot_->Start(id, OnGpus({gpu}));
    steps_.jobs[id] = {rate, snapshot_->now() + Seconds(first_step)};
    for (const JobId other : snapshot_->residents(GpuId(gpu)).jobs()) {
      if (other != id) steps_.jobs[other].rate = rate;  // both are slowed alike
    }
    Tell(core::Change::Kind::kStarted, id);
    return id;
  }
  void Leaves(JobId id) {
    snapshot_->Stop(id);
    Tell(core::Change::Kind::kStopped, id);
  }
  void Tell(core::Change::Kind kind, JobId id) {
    const core::Change change{kind, id};
    readings_.AfterChanges(*snapshot_, {&change, 1});
  }
  std::optional<Seconds> Next() { return readings_.NextLook(*snapshot_); }
  Verdict Look() {
    snapshot_.At(Next()->value);
    const std::vector<Standing> running = readings_.Read(*snapshot_);
    Verdict verdict = guard_.Look(snapshot_->now(), running);
    readings_.OnVerdict(*snapshot_, running, verdict);
    return verdict;
  }

  int learnt_ = 0;
  fixtures::SnapshotBuilder snapshot_{fixtures::ClusterBuilder().Node(2).Build()};
  PlayedSteps steps_;
  Guard guard_;
  EventReadings readings_{guard_, steps_, {1.25, {}, [&](const auto&, const auto&) { ++learnt_; }}};
};

TEST_F(EventReadingsTest, WhoIsAloneIsNotLookedAt) {
  Comes(0, 1, core::Source::kObserved);
  Comes(1, 1, core::Source::kObserved);
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(EventReadingsTest, LooksAfterAChangeAndAgainOnlyWhereSomebodyIsSlow) {
  Comes(0, 1, core::Source::kObserved);
  snapshot_.At(100);
  Comes(0, 0.95, core::Source::kObserved);
  EXPECT_EQ(Next(), Seconds(117)) << "10 s to settle, a window of 6 s, and a second more";
  EXPECT_TRUE(Look().leave.empty());
  EXPECT_EQ(Next(), std::nullopt);
  snapshot_.At(200);
  Comes(0, 0.6, core::Source::kObserved);
  EXPECT_EQ(Next(), Seconds(217));
  Look();
  EXPECT_EQ(Next(), Seconds(224));
}

TEST_F(EventReadingsTest, StartUpIsNotLookedAt) {
  Comes(0, 1, core::Source::kObserved);
  snapshot_.At(100);
  Comes(0, 0.95, core::Source::kObserved, 60);
  EXPECT_EQ(Next(), Seconds(177));
}

TEST_F(EventReadingsTest, AChangeBeginsAnewAndAnEndIsForgotten) {
  const JobId first = Comes(0, 1, core::Source::kObserved);
  snapshot_.At(100);
  Comes(0, 0.95, core::Source::kObserved);
  snapshot_.At(110);
  Comes(0, 0.9, core::Source::kObserved);
  EXPECT_EQ(Next(), Seconds(127));
  Leaves(first);
  EXPECT_EQ(Next(), Seconds(127));
  EXPECT_FALSE(guard_.PaceOf(first).alone);
}

TEST_F(EventReadingsTest, ABrokenBoundIsFoundAndThePairIsLearnt) {
  const JobId first = Comes(0, 1, core::Source::kObserved);
  snapshot_.At(100);
  const JobId second = Comes(0, 0.55, core::Source::kObserved);
  EXPECT_TRUE(Look().leave.empty()) << "not far beyond it: a second window must agree";
  const Verdict verdict = Look();
  ASSERT_EQ(verdict.leave.size(), 1U);
  EXPECT_EQ(verdict.leave[0].job, second) << "the newest, as both cost alike";
  EXPECT_EQ(verdict.leave[0].why.slowed, first) << "it kept its pace until the other came";
  EXPECT_NEAR(verdict.leave[0].why.slowdown, 1 / 0.55, 0.01);
  EXPECT_EQ(learnt_, 1);
}

TEST_F(EventReadingsTest, FarBeyondTheBoundOneWindowIsEnough) {
  Comes(0, 1, core::Source::kObserved);
  snapshot_.At(100);
  Comes(0, 0.2, core::Source::kObserved);
  EXPECT_EQ(Look().leave.size(), 1U);
}

TEST_F(EventReadingsTest, APredictionIsNoRateAlone) {
  Comes(0, 1, core::Source::kPredicted);
  snapshot_.At(5);  // too soon to have seen the first one alone
  Comes(0, 0.2, core::Source::kPredicted);
  EXPECT_EQ(Next(), std::nullopt) << "nobody could be judged";
}

TEST_F(EventReadingsTest, WhatItDidAloneIsItsRateAlone) {
  const JobId first = Comes(0, 1, core::Source::kPredicted);
  snapshot_.At(100);
  Comes(0, 0.2, core::Source::kPredicted);
  const Verdict verdict = Look();
  ASSERT_EQ(verdict.leave.size(), 1U);
  EXPECT_EQ(verdict.leave[0].why.slowed, first);
  EXPECT_NEAR(verdict.leave[0].why.slowdown, 5, 0.1);
}

TEST_F(EventReadingsTest, WhoWasSlowFromItsStartIsJudgedWhenPatienceIsOver) {
  Comes(0, 1, core::Source::kObserved);
  snapshot_.At(5);  // the first never kept its pace
  Comes(0, 0.55, core::Source::kObserved);
  EXPECT_TRUE(Look().leave.empty());
  EXPECT_TRUE(Look().leave.empty());
  ASSERT_TRUE(Next());
  EXPECT_NEAR(Next()->value, 5 + 17 + 180, 1);
  EXPECT_EQ(Look().leave.size(), 1U);
  EXPECT_EQ(Next(), std::nullopt);
}

}  // namespace
}  // namespace sharewell::control
