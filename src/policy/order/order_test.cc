// Who is next, by each order: on one GPU, so that the first started is the first in turn.
#include "policy/order/order.h"

#include <gmock/gmock.h>

#include <limits>

#include "policy/line.h"
#include "policy/order/decreasing.h"
#include "policy/order/drain.h"
#include "policy/order/due.h"
#include "policy/order/fair.h"
#include "policy/order/fifo.h"
#include "policy/order/gain.h"
#include "policy/order/las.h"
#include "policy/order/sjf.h"
#include "policy/order/srsf.h"
#include "policy/order/srtf.h"
#include "policy/registry.h"
#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;
using ::testing::ElementsAre;

core::Cluster OneGpu() { return ClusterBuilder().Node(1).Build(); }

// The waiting jobs in the order's turn.
std::vector<std::size_t> Turn(SnapshotBuilder& s, const Order& order) {
  Line line(order);
  line.Rebuild(*s);
  std::vector<std::size_t> turn;
  line.Walk(*s, 1000, [&](JobId id) {
    turn.push_back(id.index());
    return true;
  });
  return turn;
}

TEST(Fifo, IsByTimeOfSubmissionThenById) {
  SnapshotBuilder s(OneGpu());
  s.Waiting({.submit = 5});
  s.Waiting({.submit = 3});
  s.Waiting({.submit = 3});
  EXPECT_THAT(Turn(s, *NewFifoOrder()), ElementsAre(1, 2, 0));
  EXPECT_FALSE(NewFifoOrder()->Preempts());
}

TEST(EveryOrder, PutsPriorityFirst) {
  const auto fair = [] { return NewFairOrder(NewDrainOrder()); };
  for (std::unique_ptr<Order> (*make)() : {&NewFifoOrder, &NewSjfOrder, +fair, &NewGainOrder,
                                           &NewDecreasingOrder, &NewDrainOrder, &NewDueOrder}) {
    SnapshotBuilder s(OneGpu());
    s.Waiting({.seconds = 100});
    s.Waiting({.seconds = 50});
    s.Waiting({.seconds = 10, .submit = 1, .priority = 1});
    EXPECT_EQ(Turn(s, *make()).front(), 2U);
  }
}

TEST(Sjf, IsByBelievedDuration) {
  SnapshotBuilder s(OneGpu());
  s.Waiting({.seconds = 300});
  s.Waiting({.seconds = 100});
  s.Waiting({.duration_known = false});  // ten minutes, as long as nothing is known
  s.Waiting({.seconds = 200});
  EXPECT_THAT(Turn(s, *NewSjfOrder()), ElementsAre(1, 3, 0, 2));
}

TEST(ExpectedRemaining, OfUnknownJobsIsAsLongAgainAsTheyRanTenMinutesAtLeast) {
  SnapshotBuilder s(OneGpu());
  const JobId id = s.Running({.duration_known = false}, {0});
  EXPECT_EQ(ExpectedRemaining(*s, s->job(id)), 600);
  s.At(500);
  EXPECT_EQ(ExpectedRemaining(*s, s->job(id)), 600);
  s.At(5000);
  EXPECT_EQ(ExpectedRemaining(*s, s->job(id)), 5000);
}

TEST(Fair, AUserOfTwiceTheWeightHasTwiceTheUse) {
  SnapshotBuilder s(ClusterBuilder().Node(6).Build());
  for (int k = 0; k < 6; ++k) {
    s.Waiting({.user = 0, .weight = 1});
    s.Waiting({.user = 1, .weight = 2});
  }
  static const auto model = fixtures::WithoutResidual();
  Options options;
  options.interference = &model;
  const auto policy = NewPolicy("fair+slot", options).value();
  const auto memo = policy->NewMemo();
  int light = 0, heavy = 0;
  for (const auto& start : policy->Decide(*s, {}, *memo).starts) {
    (s->job(start.job).job.user == core::UserId(0) ? light : heavy) += 1;
  }
  EXPECT_EQ(light, 2);
  EXPECT_EQ(heavy, 4);
}

TEST(Srtf, GivesARunningJobTheLeadOfItsRestart) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId runs = s.Running({.seconds = 100}, {0});
  const JobId waits = s.Waiting({.seconds = 80});
  const auto order = NewSrtfOrder();
  EXPECT_TRUE(order->Preempts());
  EXPECT_EQ(order->Key(*s, s->job(runs)), 70);
  EXPECT_EQ(order->Key(*s, s->job(waits)), 80);
  s.At(40);
  EXPECT_EQ(order->Key(*s, s->job(runs)), 30) << "remaining, not total";
}

TEST(Srsf, CountsTheGpus) {
  SnapshotBuilder s(OneGpu());
  const JobId gang = s.Waiting({.seconds = 100, .gpus = 4});
  const JobId one = s.Waiting({.seconds = 300});
  const auto order = NewSrsfOrder();
  EXPECT_LT(order->Key(*s, s->job(one)), order->Key(*s, s->job(gang)));
}

TEST(Las, IsByServiceInSteps) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Build());
  const JobId one = s.Running({}, {0});
  const JobId gang = s.Running({.gpus = 2}, {1, 2});
  const JobId waits = s.Waiting({});
  const auto order = NewLasOrder();
  const auto key = [&](JobId id) { return order->Key(*s, s->job(id)); };
  EXPECT_EQ(key(one), key(waits));
  s.At(1800);
  EXPECT_EQ(key(one), key(waits)) << "within a step nobody is put behind";
  EXPECT_GT(key(gang), key(one)) << "two GPUs for half an hour are an hour";
  s.At(3600);
  EXPECT_EQ(key(gang), key(one));
  s.At(5 * 3600);
  EXPECT_GT(key(gang), key(one));
}

TEST(Gain, IsByTheBestModelOverTheWorst) {
  SnapshotBuilder s(ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build());
  const JobId some = s.Waiting({.rates = {1, 1.5}});
  const JobId most = s.Waiting({.rates = {1, 0.25}});
  const JobId picky = s.Waiting({.rates = {1, 0.1}, .only = {0}});
  EXPECT_EQ(GainOf(*s, s->job(some)), 1.5);
  EXPECT_EQ(GainOf(*s, s->job(most)), 4);
  EXPECT_EQ(GainOf(*s, s->job(picky)), 1) << "it has no choice";
  EXPECT_THAT(Turn(s, *NewGainOrder()), ElementsAre(most.index(), some.index(), picky.index()));
}

TEST(Fair, IsByWhatTheUserUsedSoFar) {
  SnapshotBuilder s(ClusterBuilder().Node(3).Build());
  s.Running({.gpus = 2, .user = 0}, {0, 1});
  s.Running({.user = 1}, {2});
  s.At(100);
  s.Waiting({.user = 0});
  s.Waiting({.user = 1});
  s.Waiting({.user = 1});
  s.Waiting({.user = 2});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewFifoOrder())), ElementsAre(5, 3, 4, 2));
}

TEST(Fair, WhatWasUsedDaysAgoCountsLess) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId old = s.Running({.user = 0}, {0});
  s.At(3600);
  s->Finish(old, core::JobState::kFinished);
  s.At(4 * 86400);
  const JobId fresh = s.Running({.user = 1}, {0});
  s.At(4 * 86400 + 1800);
  s->Finish(fresh, core::JobState::kFinished);
  s.Waiting({.user = 1});
  s.Waiting({.user = 0});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewFifoOrder())), ElementsAre(3, 2))
      << "an hour four days ago is less than half an hour now";
}

TEST(Fair, GpusThatComeFreeTogetherAreDealtOutInTurn) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());
  for (const std::size_t user : {0U, 0U, 0U, 0U, 1U, 1U}) s.Waiting({.user = user});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewFifoOrder())), ElementsAre(0, 4, 1, 5, 2, 3));
}

TEST(Fair, WithinAUserItIsTheOtherOrderAndTheTailIsThatOfTheWholeBatch) {
  SnapshotBuilder s(OneGpu());
  s.Waiting({.seconds = 100, .user = 0});
  s.Waiting({.seconds = 50, .user = 0});
  s.Waiting({.seconds = 5000, .user = 0});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewDrainOrder())), ElementsAre(2, 1, 0))
      << "one user alone: as drain has it";
  s.Waiting({.seconds = 90000, .user = 1});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewDrainOrder())), ElementsAre(3, 1, 0, 2))
      << "beside 90,000 s of another user, 5000 s are no tail";
}

TEST(Fair, TheTailGoesFirstWhoeversItIs) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobId before = s.Running({.seconds = 1000, .user = 0}, {0});
  s.At(1000);
  s->Finish(before, core::JobState::kFinished);
  s.At(100000);  // so much later that nobody else is expected
  s.Waiting({.seconds = 50, .user = 1});
  s.Waiting({.seconds = 9000, .user = 0});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewDrainOrder())), ElementsAre(2, 1))
      << "the end of all hangs on it";
}

TEST(Fair, PriorityGoesBeforeUsers) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.user = 0}, {0});
  s.At(1000);
  s.Waiting({.user = 1});
  s.Waiting({.priority = 1, .user = 0});
  EXPECT_THAT(Turn(s, *NewFairOrder(NewFifoOrder())), ElementsAre(2, 1));
}

TEST(Fair, ManyUsersDoNotMakeAWalkLonger) {
  SnapshotBuilder s(OneGpu());
  for (std::size_t k = 0; k < 50; ++k) s.Waiting({.user = k});
  const auto order = NewFairOrder(NewFifoOrder());
  Line line(*order);
  line.Rebuild(*s);
  int tried = 0;
  line.Walk(*s, 4, [&](JobId) {
    ++tried;
    return false;
  });
  EXPECT_EQ(tried, 4) << "who needs the same finds no place either, whoever's it is";
}

TEST(Line, TheOldestIsOfTheUserWhoseTurnItIs) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.user = 0}, {0});
  s.At(1000);
  const JobId first = s.Waiting({.submit = 1, .user = 0});
  const JobId second = s.Waiting({.submit = 2, .user = 1});
  const auto by_user = NewFairOrder(NewFifoOrder());
  const auto fifo = NewFifoOrder();
  for (const auto& [order, oldest] :
       {std::pair(by_user.get(), second), std::pair(fifo.get(), first)}) {
    Line line(*order);
    line.Rebuild(*s);
    EXPECT_EQ(line.Oldest(*s), oldest);
  }
}

// A stream: somebody submits every minute, so that no end is in sight.
void SubmitEveryMinute(SnapshotBuilder& s, std::size_t gpus) {
  for (int k = 0; k < 12; ++k) {
    s.At(60.0 * k);
    s.Running({.seconds = 1e6, .submit = 60.0 * k, .user = 9},
              {static_cast<std::size_t>(k) % gpus});
  }
}

TEST(Due, TheShortGoesBeforeWhoCameEarlierUnlessItCameMuchLater) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());
  SubmitEveryMinute(s, 8);
  const JobId hour = s.Waiting({.seconds = 3600, .submit = 660});
  const JobId soon = s.Waiting({.seconds = 600, .submit = 660 + 4 * 3600});
  const JobId late = s.Waiting({.seconds = 600, .submit = 660 + 5 * 3600});
  EXPECT_THAT(Turn(s, *NewDueOrder()), ElementsAre(soon.index(), hour.index(), late.index()));
}

TEST(Due, TheLongGoAsTheyCameUntilTheQueueIsLong) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());
  SubmitEveryMinute(s, 8);
  const JobId first = s.Waiting({.seconds = 30000, .submit = 660});
  const JobId second = s.Waiting({.seconds = 10000, .submit = 661});
  const auto due = NewDueOrder();
  EXPECT_EQ(due->Stage(*s), 0);
  EXPECT_THAT(Turn(s, *due), ElementsAre(first.index(), second.index()));
  const JobId much = s.Waiting({.seconds = 8 * 5 * 4 * 3600, .submit = 662});
  EXPECT_GT(due->Stage(*s), 0) << "more waits than all GPUs do in four hours";
  EXPECT_THAT(Turn(s, *due), ElementsAre(second.index(), first.index(), much.index()));
}

TEST(Due, ALineKnowsWhenItsKeysAreOutdated) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());
  SubmitEveryMinute(s, 8);
  s.Waiting({.seconds = 3000, .submit = 660});
  const auto due = NewDueOrder();
  Line line(*due);
  line.Rebuild(*s);
  EXPECT_FALSE(line.Outdated(*s));
  s.Waiting({.seconds = 8 * 5 * 4 * 3600, .submit = 661});
  EXPECT_TRUE(line.Outdated(*s));
}

TEST(Due, InABatchEqualsGoAsTheyCame) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Build());
  const JobId first = s.Waiting({.seconds = 600, .submit = 0});
  const JobId second = s.Waiting({.seconds = 600, .submit = 5});
  const JobId third = s.Waiting({.seconds = 600, .submit = 10});
  s.At(20000);
  EXPECT_THAT(Turn(s, *NewDueOrder()), ElementsAre(first.index(), second.index(), third.index()));
}
TEST(Due, WhoHoldsLessThanAnEqualShareGoesFirst) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());
  SubmitEveryMinute(s, 8);
  s.At(40000);
  const JobId flood = s.Waiting({.seconds = 600, .submit = 10, .user = 9});
  const JobId light = s.Waiting({.seconds = 3000, .submit = 39000, .user = 1});
  EXPECT_THAT(Turn(s, *NewDueOrder()), ElementsAre(light.index(), flood.index()))
      << "four of eight GPUs are the flood's part, and it holds all of them";
}
TEST(Due, WhoUsedMuchIsDueLater) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());
  SubmitEveryMinute(s, 8);
  s.At(100000);
  const JobId heavy = s.Waiting({.seconds = 600, .submit = 99000, .user = 9});
  const JobId light = s.Waiting({.seconds = 600, .submit = 99600, .user = 1});
  const JobId later = s.Waiting({.seconds = 600, .submit = 99999, .user = 1});
  EXPECT_THAT(Turn(s, *NewDueOrder()), ElementsAre(light.index(), later.index(), heavy.index()));
}

TEST(Decreasing, IsByPredictedUtilisation) {
  SnapshotBuilder s(OneGpu());
  s.Waiting({.busy = 0.2});
  s.Waiting({.busy = 0.9});
  s.Waiting({.busy = 0.5});
  EXPECT_THAT(Turn(s, *NewDecreasingOrder()), ElementsAre(1, 2, 0));
}

TEST(Drain, InABatchTheTailGoesFirstLongestFirstAndTheRestShortestFirst) {
  SnapshotBuilder s(OneGpu());
  for (double seconds : {100, 50, 2000, 200, 1000}) s.Waiting({.seconds = seconds});
  // 3350 s of work over three jobs on one GPU: 1117 s.
  EXPECT_NEAR(DrainTail(*s), 3350.0 / 3, 1e-9);
  EXPECT_THAT(Turn(s, *NewDrainOrder()), ElementsAre(2, 1, 0, 3, 4));
}

TEST(Drain, OnAStreamThereIsNoEndToHangOn) {
  SnapshotBuilder s(OneGpu());
  for (int k = 0; k < 20; ++k) {
    s.At(10.0 * k).Waiting({.seconds = k == 3 ? 3000.0 : 100, .submit = 10.0 * k});
  }
  EXPECT_NEAR(ArrivalRate(*s), 0.1, 1e-9);
  EXPECT_EQ(DrainTail(*s), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Turn(s, *NewDrainOrder()).back(), 3U) << "shortest first";
}

TEST(Drain, F23_EqualsOfTheTailGoBySubmissionAndId) {
  SnapshotBuilder s(ClusterBuilder().Node(8).Build());  // so many that all of them are the tail
  for (int k = 0; k < 3; ++k) s.Waiting({.submit = 2, .duration_known = false});
  s.Waiting({.submit = 1, .duration_known = false});
  ASSERT_LT(DrainTail(*s), std::numeric_limits<double>::infinity());
  s.Waiting({.seconds = 3000, .submit = 5});
  for (int k = 0; k < 2; ++k) s.Waiting({.seconds = 2500, .submit = 6.0 - k});
  EXPECT_THAT(Turn(s, *NewDrainOrder()), ElementsAre(4, 6, 5, 3, 0, 1, 2));
}

TEST(Drain, F23_AnArrayOnAFreshServerGoesByNumber) {
  SnapshotBuilder s(ClusterBuilder().Node(4).Build());
  for (int k = 0; k < 8; ++k) s.Waiting({.duration_known = false});
  EXPECT_LE(DrainTail(*s), 600) << "all of them are the tail";
  EXPECT_THAT(Turn(s, *NewDrainOrder()), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Drain, PriorityStillGoesBeforeTheTail) {
  SnapshotBuilder s(OneGpu());
  s.Waiting({.seconds = 5000, .exclusive = true});
  s.Waiting({.seconds = 10, .exclusive = true, .priority = 1});
  EXPECT_THAT(Turn(s, *NewDrainOrder()), ElementsAre(1, 0));
}

TEST(Line, LeavesTheRestOfAClassOutAfterSomeMisses) {
  SnapshotBuilder s(OneGpu());
  for (int k = 0; k < 5; ++k) s.Waiting({});
  s.Waiting({.gpus = 2});
  const auto order = NewFifoOrder();
  Line held(*order);
  held.Rebuild(*s);
  std::vector<std::size_t> tried;
  held.Walk(*s, 2, [&](JobId id) {
    tried.push_back(id.index());
    return false;
  });
  EXPECT_THAT(tried, ElementsAre(0, 1, 5)) << "those who need something else are still tried";
}

}  // namespace
}  // namespace sharewell::policy
