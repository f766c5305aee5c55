#include "core/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/random_case.h"

namespace sharewell::core {
namespace {

const CpuCurve kCurve{{1, 0.5}, {2, 0.9}, {4, 1}};

TEST(Throughput, WithoutACurveRisesLinearlyToWhatIsWanted) {
  EXPECT_DOUBLE_EQ(Throughput({}, 4, 1), 0.25);
  EXPECT_DOUBLE_EQ(Throughput({}, 4, 4), 1);
  EXPECT_DOUBLE_EQ(Throughput({}, 4, 9), 1);
  EXPECT_DOUBLE_EQ(Throughput({}, 4, 0), 0);
  EXPECT_DOUBLE_EQ(Throughput({}, 0, 0), 1);  // needs none
}

TEST(Throughput, FollowsTheCurveAndIsFlatBeyondIt) {
  EXPECT_DOUBLE_EQ(Throughput(kCurve, 9, 0), 0);
  EXPECT_DOUBLE_EQ(Throughput(kCurve, 9, 0.5), 0.25);
  EXPECT_DOUBLE_EQ(Throughput(kCurve, 9, 1), 0.5);
  EXPECT_DOUBLE_EQ(Throughput(kCurve, 9, 1.5), 0.7);
  EXPECT_DOUBLE_EQ(Throughput(kCurve, 9, 3), 0.95);
  EXPECT_DOUBLE_EQ(Throughput(kCurve, 9, 40), 1);
}

TEST(Throughput, ACurveNeedNotReachOne) { EXPECT_DOUBLE_EQ(Throughput({{2, 0.8}}, 1, 16), 0.8); }

TEST(CoresFor, IsTheFewestWholeCoresThatKeepTheShare) {
  EXPECT_EQ(CoresFor(kCurve, 9, 0.5), 1);
  EXPECT_EQ(CoresFor(kCurve, 9, 0.9), 2);
  EXPECT_EQ(CoresFor(kCurve, 9, 0.94), 3);
  EXPECT_EQ(CoresFor(kCurve, 9, 0.98), 4);
  EXPECT_EQ(CoresFor({}, 3.2, 1), 4);
  EXPECT_EQ(CoresFor({}, 3.2, 0.9), 3);
  EXPECT_EQ(CoresFor({}, 0, 1), 1) << "somebody has to run the loop";
}

TEST(CoresFor, IsRelativeToWhatTheCurveReaches) {
  EXPECT_EQ(CoresFor({{1, 0.4}, {2, 0.5}}, 9, 0.98), 2);
  EXPECT_EQ(CoresFor({{1, 0.5}, {2, 0.5}}, 9, 0.98), 1);
}

TEST(CoresFor, KeepsItsPromiseAndNoCoreLessWouldDo) {
  fixtures::Dice dice(2);
  for (int i = 0; i < 300; ++i) {
    CpuCurve curve;
    double x = 0;
    double y = 0;
    for (int k = dice.Between(0, 5); k > 0; --k) {
      curve.emplace_back(x += dice.Uniform(0.1, 4), y += dice.Uniform(0.01, 0.2));
    }
    const double wanted = dice.Uniform(0, 12);
    const double share = dice.Uniform(0.5, 1);
    const double most = Throughput(curve, wanted, 1e9);
    const double cores = CoresFor(curve, wanted, share);
    ASSERT_GE(cores, 1);
    ASSERT_EQ(cores, std::floor(cores));
    ASSERT_GE(Throughput(curve, wanted, cores), share * most - 1e-9);
    if (cores > 1) {
      ASSERT_LT(Throughput(curve, wanted, cores - 1), share * most);
    }
  }
}

}  // namespace
}  // namespace sharewell::core
