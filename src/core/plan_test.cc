#include "core/plan.h"

#include <gmock/gmock.h>

#include <set>

namespace sharewell::core {
namespace {

using ::testing::HasSubstr;

constexpr int kKinds = static_cast<int>(ReasonKind::kInfeasible) + 1;

TEST(InWords, EveryReasonHasItsOwnWords) {
  std::set<std::string> all;
  for (int k = 0; k < kKinds; ++k) {
    const std::string words = InWords({static_cast<ReasonKind>(k), JobId(0), 0.5, 0.25}, "job 7");
    EXPECT_FALSE(words.empty()) << "kind " << k;
    EXPECT_TRUE(all.insert(words).second) << "said twice: " << words;
  }
}

TEST(InWords, FiguresAndTheOtherJobAreSaid) {
  EXPECT_THAT(InWords({ReasonKind::kFirstFit, {}, 0.93, 0}, ""), HasSubstr("93 %"));
  const std::string words = InWords({ReasonKind::kGoodNeighbour, JobId(3), 0.9, 0.8}, "bert");
  EXPECT_THAT(words, HasSubstr("bert"));
  EXPECT_THAT(words, HasSubstr("90 %"));
  EXPECT_THAT(words, HasSubstr("80 %"));
  EXPECT_THAT(InWords({ReasonKind::kHeldBack, JobId(3), 0, 0}, "gang"), HasSubstr("gang"));
  EXPECT_THAT(InWords({ReasonKind::kBetterModel, {}, 1.5, 0}, ""), HasSubstr("1.50x"));
}

TEST(InWords, N3_WhatIsShortIsSaidInFiguresAndWhoHasIt) {
  EXPECT_EQ(InWords({ReasonKind::kNoCores, {}, 4, 1}, "job 3 of alice has 6, job 5 of bob has 1"),
            "needs 4 CPU cores; 1 is free: job 3 of alice has 6, job 5 of bob has 1");
  EXPECT_EQ(InWords({ReasonKind::kNoCores, {}, 1, 0.5}, ""), "needs 1 CPU core; 0.5 are free");
  EXPECT_EQ(InWords({ReasonKind::kNoHostMemory, {}, 64.0 * (1 << 30), 12.0 * (1 << 30)},
                    "job 3 of ann has 40.0 GiB"),
            "no node has 64.0 GiB of host memory free; the most is 12.0 GiB: job 3 of ann has "
            "40.0 GiB");
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(
      InWords({ReasonKind::kNoMemory, {}, 40 * kGiB, 21 * kGiB}, "GPU 1 has job 3 of alice"),
      "may need 40.0 GiB of GPU memory; at most 21.0 GiB is free beside others: GPU 1 has job "
      "3 of alice");
  EXPECT_EQ(InWords({ReasonKind::kNoIdleGpu, {}, 1, 0}, ""),
            "needs an idle GPU, and none is idle where it may run");
  EXPECT_EQ(InWords({ReasonKind::kNoIdleGpu, {}, 4, 1}, ""),
            "needs 4 idle GPUs; 1 is idle where it may run");
  EXPECT_EQ(InWords({ReasonKind::kNoIdleGpu, {}, 4, 5}, ""),
            "needs 4 idle GPUs together; 5 are idle, but not on one node");
}

TEST(Plan, WaitsAndWakingAreNoActions) {
  Plan plan;
  EXPECT_TRUE(plan.empty());
  plan.waits.push_back({JobId(0), {}});
  plan.wake_at = Seconds(5);
  EXPECT_TRUE(plan.empty());
  plan.stops.push_back({JobId(0), {}});
  EXPECT_FALSE(plan.empty());
}

}  // namespace
}  // namespace sharewell::core
