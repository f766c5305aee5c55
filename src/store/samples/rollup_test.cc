#include "store/samples/rollup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

using testing::SizeIs;

TEST(Rollup, OfPointsThenOfMinutes) {
  const std::vector<core::Point> points{{-1, 9}, {0, 4}, {59'999, 2}, {60'000, 6}};
  const auto minutes = RollUp(points, kMinute);
  ASSERT_THAT(minutes, SizeIs(3));
  EXPECT_EQ(minutes[0].time, -kMinute);
  EXPECT_EQ(minutes[1].least, 2);
  EXPECT_EQ(minutes[1].most, 4);
  EXPECT_EQ(minutes[1].mean, 3);
  EXPECT_EQ(minutes[1].last, 2);
  EXPECT_EQ(minutes[1].samples, 2);
  const auto hours = RollUp(minutes, kHour);
  ASSERT_THAT(hours, SizeIs(2));
  EXPECT_EQ(hours[1].samples, 3);
  EXPECT_DOUBLE_EQ(hours[1].mean, 4);
  EXPECT_EQ(hours[1].last, 6);
}

TEST(Rollup, TheMeanOfLargeValuesIsFinite) {
  const auto minutes = RollUp(std::vector<core::Point>{{0, 1.7e308}, {1, 1.7e308}}, kMinute);
  EXPECT_DOUBLE_EQ(minutes[0].mean, 1.7e308);
}

TEST(Rollup, BytesAndBack) {
  std::vector<Bucket> minutes;
  for (int i = 0; i < 60; i += 7)
    minutes.push_back({kHour + i * kMinute, 0.1, 3.5 * i, 1.25, 7, i + 1});
  const std::string bytes = EncodeRollup(minutes, kHour);
  const auto back = DecodeRollup(bytes, kHour, kHour);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), minutes.size());
  for (std::size_t i = 0; i < minutes.size(); ++i) {
    EXPECT_EQ((*back)[i].time, minutes[i].time);
    EXPECT_EQ((*back)[i].most, minutes[i].most);
    EXPECT_EQ((*back)[i].samples, minutes[i].samples);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRollup(std::string_view(bytes).substr(0, size), kHour, kHour)) << size;
  }
}

TEST(ChartBuckets, AreOfEqualWidthAndAtMostSoMany) {
  for (const std::size_t most : {1u, 3u, 7u, 1000u}) {
    ChartBuckets buckets({100, 1100}, most, 1);
    for (int i = 0; i < 1100; ++i) buckets.Add({i, 1.0 * i, 1.0 * i, 1.0 * i, 1.0 * i, 1});
    const auto taken = std::move(buckets).Take();
    EXPECT_LE(taken.size(), most);
    EXPECT_EQ(taken[0].time, 100);
    if (taken.size() > 2) {
      EXPECT_EQ(taken[1].time - taken[0].time, taken[2].time - taken[1].time);
    }
    EXPECT_EQ(taken[0].least, 0);  // one from before reaches into it
    EXPECT_EQ(taken.back().last, 1099);
  }
  EXPECT_THAT(ChartBuckets({0, 5}, 1000, kMinute).Take(), SizeIs(0));
}

TEST(ChartBuckets, TheLastByTimeIsTheLastWhateverTheOrder) {
  ChartBuckets buckets({0, 10}, 1, 1);
  buckets.Add({5, 1, 1, 1, 50, 1});
  buckets.Add({2, 1, 1, 1, 20, 1});
  EXPECT_EQ(std::move(buckets).Take()[0].last, 50);
}

}  // namespace
}  // namespace sharewell::store
