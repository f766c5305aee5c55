#include "report/simulation/best_for_whom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

simulation::Summary Taking(const std::string& policy, double small, double large) {
  simulation::Summary s;
  s.policy = policy;
  s.jct.mean = (small + large) / 2;
  s.jct.p99 = large;
  s.by_size = {{"1", 5, 1, 1, small, small}, {"5-8", 5, 1, 1, large, large}};
  s.by_user = {{"ann", 5, 1, 1, small, small}, {"bob", 5, 1, 1, large, large}};
  return s;
}

TEST(BestForWhom, SaysWhoPays) {
  const auto slot = Taking("slot", 100, 200), share = Taking("share", 50, 220);
  const auto lines = BestForWhom({{&slot}, {&share}});
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0],
            "best mean completion: share, 10 % below slot; 99th percentile: slot, 9 % below share");
  EXPECT_EQ(lines[1], "by size, against slot: 1 GPU: share −50 %; 5-8 GPUs: slot (share +10 %)");
  EXPECT_EQ(lines[2], "of 2 users: slot for 1, share for 1");
  EXPECT_THAT(lines[3], HasSubstr("one seed"));
}

TEST(BestForWhom, WhatASeedMayTurnRoundIsNoDifference) {
  const auto slot = Taking("slot", 100, 100);
  const auto sooner = Taking("share", 90, 90), later = Taking("share", 108, 108);
  const auto lines = BestForWhom({{&slot, &slot}, {&sooner, &later}});
  EXPECT_THAT(lines[0], HasSubstr("mean completion: no difference;"));
  EXPECT_THAT(lines[2], HasSubstr("none alone for 2"));
  EXPECT_THAT(lines[3], HasSubstr("2 seeds"));
}

TEST(BestForWhom, SeveralMayBeAlike) {
  const auto slot = Taking("slot", 100, 100), a = Taking("a", 50, 50), b = Taking("b", 50.1, 50.1);
  EXPECT_THAT(BestForWhom({{&slot}, {&a}, {&b}})[0],
              HasSubstr("mean completion: a or b, 50 % below slot;"));
  EXPECT_THAT(BestForWhom({{&slot}, {&a}, {&b}})[1],
              HasSubstr("1 GPU: a or b −50 %; 5-8 GPUs: a or b −50 %"));
}

TEST(BestForWhom, OptimaAndThePastAreNoChoices) {
  const auto slot = Taking("slot", 100, 100), best = Taking("optimal", 50, 50);
  auto really = Taking("really", 70, 70);
  really.history = true;
  EXPECT_THAT(BestForWhom({{&really}, {&slot}, {&best}}), IsEmpty());
}

}  // namespace
}  // namespace sharewell::report
