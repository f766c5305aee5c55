// Who gains and who loses, and the curves of distributions.
#include "simulation/replay/gains.h"

#include <gmock/gmock.h>

namespace sharewell::simulation {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(Gains, CountsWhoEndsSoonerAndLaterAndNamesTheLargest) {
  const CompletionTimes first = {100, 100, 100, std::nullopt, 1000, 10};
  const CompletionTimes then = {50, 104, 300, 10, 900, std::nullopt};
  const PolicyChange change = ChangeOf("sharewell", first, then);
  EXPECT_EQ(change.sooner, 2U);
  EXPECT_EQ(change.later, 1U);
  EXPECT_EQ(change.same, 1U) << "within a twentieth";
  EXPECT_THAT(change.worst, Optional(3.0));
  EXPECT_THAT(change.jct_mean, Optional(DoubleNear(1354.0 / 1300 - 1, 1e-12)));
  ASSERT_EQ(change.gains.size(), 2U);
  EXPECT_EQ(change.gains[0].job, 4U) << "100 s sooner, and job 0 only 50 s";
  EXPECT_EQ(change.gains[1].job, 0U);
  ASSERT_EQ(change.losses.size(), 1U);
  EXPECT_EQ(change.losses[0].after, 300);
}

TEST(Gains, OfManyJobsTenOfEachAreNamed) {
  const PolicyChange change = ChangeOf("x", CompletionTimes(30, 100), CompletionTimes(30, 10));
  EXPECT_EQ(change.sooner, 30U);
  EXPECT_EQ(change.gains.size(), 10U);
  EXPECT_EQ(change.gains[0].job, 0U);
}

TEST(Curve, IsTheValueThatAShareOfJobsDoesNotExceed) {
  EXPECT_THAT(CurveOf({3, 1, 2}), ElementsAre(1, 2, 3));
  EXPECT_THAT(CurveOf({4, 3, 2, 1}, 2), ElementsAre(2, 4)) << "half of them, all of them";
  EXPECT_THAT(CurveOf({}), IsEmpty());
}

}  // namespace
}  // namespace sharewell::simulation
