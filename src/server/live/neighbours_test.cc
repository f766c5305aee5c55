#include "server/live/neighbours.h"

#include <gmock/gmock.h>

#include "collect/metrics/job_metrics.h"

namespace sharewell::server {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::vector<store::Bucket> Every2s(core::UnixMillis from, core::UnixMillis to, double value) {
  std::vector<store::Bucket> buckets;
  for (; from < to; from += 2000) {
    buckets.push_back({from, value, value, value, value, 1, from});
  }
  return buckets;
}

TEST(NeighbourSpans, ChangeWithTheJobsThatAreBeside) {
  NeighbourBuckets buckets;
  buckets.speed = Every2s(0, 10'000, 1.0);
  for (const auto& more : Every2s(10'000, 30'000, 0.75)) buckets.speed.push_back(more);
  buckets.beside[12] = Every2s(10'000, 30'000, 1);
  buckets.beside[13] = Every2s(20'000, 30'000, 1);
  const auto spans = NeighbourSpans(buckets, 60'000);
  ASSERT_THAT(spans, SizeIs(3));
  EXPECT_EQ(spans[0], (NeighbourSpan{0, 10'000, {}, core::Seconds(10), 1.0}));
  EXPECT_EQ(spans[1], (NeighbourSpan{10'000, 20'000, {12}, core::Seconds(10), 0.75}));
  EXPECT_EQ(spans[2], (NeighbourSpan{20'000, 30'000, {12, 13}, core::Seconds(10), 0.75}));
}

TEST(NeighbourSpans, ASpeedThatWasNotMeasuredIsUnknownNotFull) {
  NeighbourBuckets buckets;
  buckets.beside[12] = Every2s(0, 20'000, 1);
  buckets.speed = Every2s(16'000, 20'000, 0.5);  // after it had settled
  const auto spans = NeighbourSpans(buckets, 20'000);
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].measured, core::Seconds(4));
  EXPECT_THAT(spans[0].speed.value_or(0), DoubleNear(0.5, 1e-9));
  buckets.speed.clear();
  EXPECT_EQ(NeighbourSpans(buckets, 20'000)[0].speed, std::nullopt);
}

TEST(NeighbourSpans, NobodyLookedWhileTheServerWasAway) {
  NeighbourBuckets buckets;
  buckets.beside[12] = Every2s(0, 10'000, 1);
  for (const auto& more : Every2s(600'000, 610'000, 1)) buckets.beside[12].push_back(more);
  const auto spans = NeighbourSpans(buckets, 610'000);
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].to, 10'000);
  EXPECT_EQ(spans[1].from, 600'000);
}

TEST(NeighbourSpans, OfNothingThereAreNone) { EXPECT_THAT(NeighbourSpans({}, 1000), IsEmpty()); }

TEST(NeighboursNow, TellsEveryPairBothWaysAndSpeedsThatAreKnown) {
  control::JobBoard board;
  control::ServiceView view;
  view.gpus.resize(3);
  view.gpus[0].jobs = {1, 2};
  view.gpus[1].jobs = {2};
  view.gpus[2].jobs = {3, 4};
  for (std::int64_t number = 1; number <= 4; ++number) {
    core::JobRecord job;
    job.number = number;
    job.phase = number == 4 ? core::Phase::kStopping : core::Phase::kRunning;
    if (number == 1) job.slowdown = 1.25;
    board.Put(job);
  }
  const core::Batch batch = NeighboursNow(view, board, 5000);
  EXPECT_EQ(batch.time, 5000);
  EXPECT_THAT(batch.readings,
              UnorderedElementsAre(core::Reading{&collect::kJobSpeed, "", "job 1", 0.8},
                                   core::Reading{&collect::kJobBeside, "2", "job 1", 1},
                                   core::Reading{&collect::kJobBeside, "1", "job 2", 1},
                                   core::Reading{&collect::kJobBeside, "4", "job 3", 1}));
}

}  // namespace
}  // namespace sharewell::server
