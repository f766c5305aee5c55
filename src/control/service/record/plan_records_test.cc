#include "control/service/record/plan_records.h"

#include <gmock/gmock.h>

#include "testing/builders.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Phase;
using fixtures::OnGpus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace reason = core::reason;

class PlanRecordsTest : public ::testing::Test {
 protected:
  PlanRecordsTest() : snapshot_(fixtures::ClusterBuilder().Node(2).Build()) {
    GpuView a, b;
    a.gpu = {0, "GPU-a", "A"};
    b.gpu = {1, "GPU-b", "A"};
    gpus_ = GpuTable({a, b});
  }
  // Job 10 + i has the id i.
  JobId Job(std::optional<std::size_t> gpu) {
    core::JobRecord record;
    record.number = 10 + static_cast<std::int64_t>(live_.size());
    record.phase = gpu ? Phase::kRunning : Phase::kWaiting;
    live_.GiveId(live_.Add(record));
    return gpu ? snapshot_.Running({}, {*gpu}) : snapshot_.Waiting({});
  }
  store::JobChanges Records(const core::Plan& plan, bool managed = false) {
    return RecordsOf(plan, *snapshot_, live_, gpus_, 77, managed);
  }

  fixtures::SnapshotBuilder snapshot_;
  LiveJobs live_;
  GpuTable gpus_{{}};
};

TEST_F(PlanRecordsTest, AStartIsTheNextAttemptAtItsPlaceBesideWhoIsThere) {
  Job(1);
  const JobId id = Job(std::nullopt);
  live_.Find(id)->record.attempt = 4;
  live_.Find(id)->record.resumed = 5;
  core::Plan plan;
  plan.starts.push_back({id, OnGpus({1}, 3), {}, reason::GoodNeighbour{JobId(0), 1, 1}});
  const auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 1U);
  const core::JobRecord& record = changes.jobs[0];
  EXPECT_EQ(record.number, 11);
  EXPECT_EQ(record.phase, Phase::kStarting);
  EXPECT_EQ(record.attempt, 5);
  EXPECT_EQ(record.cores, 3);
  EXPECT_EQ(record.gpus.at(0).uuid, "GPU-b");
  EXPECT_THAT(record.beside, ElementsAre(10));
  EXPECT_EQ(record.resumed, std::nullopt);
  EXPECT_THAT(record.reason, HasSubstr("job 10"));
  ASSERT_EQ(changes.events.size(), 1U);
  EXPECT_EQ(changes.events[0].kind, "job.placed");
  EXPECT_EQ(changes.events[0].time, 77);
  EXPECT_THAT(changes.events[0].text, HasSubstr("job 11: GPU 1: "));
  EXPECT_EQ(live_.Find(id)->record.attempt, 4) << "nothing is changed here";
}

TEST_F(PlanRecordsTest, AShareIsToldWithItsReason) {
  const JobId there = Job(1), comes = Job(std::nullopt), moves = Job(0);
  core::Plan plan;
  core::Allocation narrow = OnGpus({1}, 3);
  narrow.sm_share = 0.8;
  plan.starts.push_back({comes, narrow, {}, reason::GoodNeighbour{there, 1, 1}});
  plan.moves.push_back({moves, narrow, false, reason::Order{}});
  auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 2U);
  EXPECT_EQ(changes.jobs[0].sm_share, 0.8) << "a move has one too";
  EXPECT_EQ(changes.jobs[1].sm_share, 0.8);
  EXPECT_THAT(changes.jobs[1].reason,
              HasSubstr("; at most 80 % of the SMs, so that short kernels of job 10 find room"));
  EXPECT_THAT(changes.events[1].text, HasSubstr("at most 80 % of the SMs"));

  plan.moves.clear();
  plan.starts[0].to.sm_share = 1;
  changes = Records(plan);
  EXPECT_EQ(changes.jobs[0].sm_share, 1);
  EXPECT_THAT(changes.jobs[0].reason, ::testing::Not(HasSubstr("SMs")));
}

TEST_F(PlanRecordsTest, OfAGuestItIsToldWhatItIsKeptTo) {
  const JobId there = Job(1), comes = Job(std::nullopt);
  core::Plan plan;
  core::Allocation guest = OnGpus({1}, 3);
  guest.sm_share = 0.8;
  guest.guest_memory = core::GiB(31);
  plan.starts.push_back({comes, guest, {}, reason::AsGuest{there, core::GiB(31)}});
  auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 1U);
  EXPECT_EQ(changes.jobs[0].guest_memory, core::GiB(31));
  EXPECT_EQ(changes.jobs[0].reason,
            "a guest beside job 10, with at most 31.0 GiB of GPU memory: nothing is known of it "
            "until it has told its step; at most 80 % of the SMs");
  plan.starts[0].to = OnGpus({1}, 3);
  changes = Records(plan);
  EXPECT_EQ(changes.jobs[0].guest_memory, std::nullopt);
}

TEST_F(PlanRecordsTest, WhoStartsTogetherIsBesideEachOther) {
  const JobId leaves = Job(0), a = Job(std::nullopt), b = Job(std::nullopt);
  core::Plan plan;
  plan.stops.push_back({leaves, {}});
  plan.starts.push_back({a, OnGpus({0}, 1), {}, {}});
  plan.starts.push_back({b, OnGpus({0}, 1), {}, {}});
  const auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 3U);
  EXPECT_THAT(changes.jobs[1].beside, ElementsAre(12));
  EXPECT_THAT(changes.jobs[2].beside, ElementsAre(11));
}

TEST_F(PlanRecordsTest, WhoIsSlowedIsToldForWhomAndHowMuch) {
  const JobId starves = Job(0), slowed = Job(1);
  core::Plan plan;
  plan.throttles.push_back({slowed, 0.25, reason::GivesWay{starves, 0.25}});
  const auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 1U);
  EXPECT_EQ(changes.jobs[0].number, 11);
  EXPECT_EQ(changes.jobs[0].phase, Phase::kRunning);
  EXPECT_THAT(changes.jobs[0].reason, HasSubstr("starved; it has 25 % of its CPU time"));
  EXPECT_EQ(changes.events.at(0).kind, "job.throttled");
}

TEST_F(PlanRecordsTest, WhoIsStoppedForAProjectsShareIsToldForWhom) {
  const JobId stopped = Job(0), starts = Job(std::nullopt);
  core::Plan plan;
  plan.stops.push_back({stopped, reason::Reclaimed{starts}});
  plan.starts.push_back({starts, OnGpus({0}), {}, reason::Order{}});
  const auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 2U);
  EXPECT_EQ(changes.jobs[0].phase, Phase::kStopping);
  EXPECT_EQ(changes.jobs[0].evicted, 0) << "it may share its GPU as before";
  EXPECT_THAT(changes.jobs[0].note, HasSubstr("it gave its place to job 11"));
  EXPECT_THAT(changes.jobs[0].note, HasSubstr("whose project was below its share of the GPUs; it "
                                              "goes back into the queue"));
  EXPECT_TRUE(changes.jobs[1].beside.empty());
}

TEST_F(PlanRecordsTest, StopsResizesAndWhatCanNeverRun) {
  const JobId stopped = Job(0), resized = Job(1), never = Job(std::nullopt);
  core::Plan plan;
  plan.stops.push_back({stopped, reason::Preempted{resized}});
  plan.resizes.push_back({resized, 6, {}});
  plan.infeasible = {never};
  const auto changes = Records(plan);
  ASSERT_EQ(changes.jobs.size(), 3U);
  EXPECT_EQ(changes.jobs[0].phase, Phase::kStopping);
  EXPECT_THAT(changes.jobs[0].reason, HasSubstr("; it goes back into the queue"));
  EXPECT_EQ(changes.jobs[1].cores, 6);
  EXPECT_EQ(changes.jobs[1].phase, Phase::kRunning);
  EXPECT_EQ(changes.jobs[2].phase, Phase::kFailed);
  EXPECT_EQ(changes.jobs[2].ended, 77);
  EXPECT_THAT(changes.jobs[2].note, HasSubstr("it could never run here"));
}

// S3: it may be valid there, and is the manager's to refuse.
TEST_F(PlanRecordsTest, InAManagersQueueWhatCanNeverRunIsHeld) {
  core::Plan plan;
  plan.infeasible = {Job(std::nullopt)};
  const auto changes = Records(plan, true);
  ASSERT_EQ(changes.jobs.size(), 1U);
  EXPECT_EQ(changes.jobs[0].phase, Phase::kHeld);
  ASSERT_TRUE(changes.jobs[0].hold.has_value());
  EXPECT_TRUE(std::holds_alternative<core::hold::NoNodes>(*changes.jobs[0].hold));
  EXPECT_EQ(changes.events.front().kind, "job.held");
}

TEST_F(PlanRecordsTest, WhatKeepsAGpuFromBeingUsedHasNoRecord) {
  live_.GiveIdToNobody();
  const JobId nobody = snapshot_.Running({}, {0});
  core::Plan plan;
  plan.stops.push_back({nobody, {}});
  EXPECT_THAT(Records(plan).jobs, IsEmpty());
  EXPECT_THAT(Records(plan).events, IsEmpty());
  EXPECT_THAT(JobsOn({core::GpuId(0)}, {}, *snapshot_, live_), IsEmpty());
}

}  // namespace
}  // namespace sharewell::control
