#include "core/job/job_metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sharewell::core {
namespace {

constexpr UnixMillis kStart = 1'700'000'000'000;

ToldMetric Loss(UnixMillis at, double value, std::optional<std::int64_t> step = {}) {
  return {"loss", kStart + at, value, step};
}

TEST(JobMetricsTest, WhatIsToldTwiceCountsOnce) {
  JobMetrics metrics;
  metrics.Hear(Loss(0, 2.5, 1));
  metrics.Hear(Loss(0, 2.5, 1));
  metrics.Hear(Loss(5000, 1.5, 2));
  ASSERT_EQ(metrics.all().size(), 1U);
  EXPECT_EQ(metrics.all()[0].last, Loss(5000, 1.5, 2));
  ASSERT_EQ(metrics.all()[0].points.points().size(), 2U);
  EXPECT_EQ(metrics.all()[0].points.points()[1],
            (MetricPoint{kStart + 5000, kStart + 5000, 1.5, 1}));
}

TEST(JobMetricsTest, ALongLifeIsThinnedToItsMeans) {
  JobMetrics metrics;
  for (int t = 0; t < 100'000; ++t) metrics.Hear(Loss(t * UnixMillis{1000}, t % 2 == 0 ? 1 : 3));
  const auto& points = metrics.all()[0].points.points();
  EXPECT_LE(points.size(), Thinned<MetricPoint>::kMostPoints);
  EXPECT_GE(points.size(), Thinned<MetricPoint>::kMostPoints / 3);
  double told = 0, sum = 0;
  for (const MetricPoint& point : points) {
    told += point.told;
    sum += point.told * point.value;
  }
  EXPECT_EQ(told, 100'000);
  EXPECT_NEAR(sum / told, 2, 1e-9);
}

TEST(JobMetricsTest, AClockThatIsSetBackLosesNothing) {
  JobMetrics metrics;
  metrics.Hear(Loss(60'000, 1));
  metrics.Hear(Loss(10'000, 2));
  EXPECT_EQ(metrics.all()[0].last.value, 2);
  EXPECT_EQ(metrics.all()[0].points.points().back().to, kStart + 60'000);
}

TEST(JobMetricsTest, TheLargestValuesAreKeptAndNoLargerOnes) {
  constexpr double kMost = kMostMetric;
  JobMetrics metrics;
  for (int t = 0; t < 10; ++t) metrics.Hear(Loss(t, t % 2 == 0 ? kMost : -kMost));
  ASSERT_EQ(metrics.all()[0].points.points().size(), 1U);
  EXPECT_TRUE(JobMetrics::From(metrics.all()));
  metrics.Hear({"more", kStart, 2 * kMost, {}});
  EXPECT_EQ(metrics.all().size(), 1U);
}

TEST(JobMetricsTest, WhatIsNoneOrOneTooManyIsLeftOut) {
  JobMetrics metrics;
  metrics.Hear({"", kStart, 1, {}});
  metrics.Hear({"a b", kStart, 1, {}});
  metrics.Hear({"\x1b[2J", kStart, 1, {}});
  metrics.Hear({std::string(33, 'x'), kStart, 1, {}});
  metrics.Hear({"nan", kStart, std::numeric_limits<double>::quiet_NaN(), {}});
  metrics.Hear({"inf", kStart, std::numeric_limits<double>::infinity(), {}});
  metrics.Hear({"early", -1, 1, {}});
  metrics.Hear({"step", kStart, 1, -1});
  EXPECT_TRUE(metrics.all().empty());
  for (const char* name : {"loss", "eval/acc-1.b_2", "c", "d", "one_too_many"}) {
    metrics.Hear({name, kStart, 1, {}});
  }
  EXPECT_EQ(metrics.all().size(), kMostMetrics);
  metrics.Hear({"loss", kStart + 1, 2, {}});
  EXPECT_EQ(metrics.all()[0].last.value, 2);
}

TEST(JobMetricsTest, OnlyWhatWasKeptComesBack) {
  JobMetrics metrics;
  metrics.Hear(Loss(0, 1));
  const JobMetric good = metrics.all()[0];
  EXPECT_EQ(JobMetrics::From({good}), metrics);
  EXPECT_FALSE(JobMetrics::From({good, good})) << "one name twice";
  const auto with = [&](std::vector<MetricPoint> points) {
    JobMetric one = good;
    one.points = Thinned<MetricPoint>(std::move(points));
    return JobMetrics::From({one}).has_value();
  };
  EXPECT_TRUE(with({{5, 6, 1, 1}}));
  EXPECT_FALSE(with({}));
  EXPECT_FALSE(with({{5, 4, 1, 1}}));
  EXPECT_FALSE(with({{5, 6, 1, 1}, {5, 6, 1, 1}}));
  EXPECT_FALSE(with({{5, 6, 1, 0}}));
  EXPECT_FALSE(with({{5, 6, 1e31, 1}}));
}

}  // namespace
}  // namespace sharewell::core
