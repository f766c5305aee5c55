#include "store/samples/pending.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/test_batches.h"

namespace sharewell::store {
namespace {

using testing::HasSubstr;

TEST(Pending, BatchesThatRepeatOrDoNotMeanTheSameSeries) {
  Pending pending;
  const core::Batch there{1,
                          {{&kPower, "0", "", 1}, {&kPower, "1", "", 2}, {&kEnergy, "0", "", 3}}};
  core::Batch back = there;
  std::swap(back.readings[0], back.readings[2]);
  back.time = 2;
  for (const auto& batch : {there, back, there}) ASSERT_TRUE(pending.Add("n", batch, "here"));
  auto& node = pending.nodes().at("n");
  EXPECT_EQ(node.series().size(), 3u);
  EXPECT_EQ(node.points(), 9u);
  EXPECT_EQ(node.Find(KeyOf("n", "1"))->points.size(), 3u);
  EXPECT_EQ(node.Find(KeyOf("n", "7")), nullptr);
  node.Clear();
  EXPECT_EQ(node.points(), 0u);
  EXPECT_EQ(node.series().size(), 3u);
}

TEST(Pending, TakesAllOfABatchOrNothing) {
  Pending pending(10'000);
  core::Result<void> done;
  std::size_t taken = 0;
  while (done) {
    done = pending.Add("n", BatchOf(static_cast<core::UnixMillis>(taken), 1), "the file");
    if (done) ++taken;
  }
  EXPECT_EQ(pending.nodes().at("n").points(), taken);
  EXPECT_LE(pending.nodes().at("n").bytes(), 20'000u);
  EXPECT_THAT(done.error().message, HasSubstr("the file"));
  pending.nodes().at("n").Clear();
  EXPECT_TRUE(pending.Add("n", BatchOf(1, 1), "the file"));
}

TEST(Pending, SeriesOfJobsLongGoneAreForgotten) {
  Pending pending;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(pending.Add("n", BatchOf(i, 1, "0", "job-" + std::to_string(i)), "x"));
  }
  auto& node = pending.nodes().at("n");
  node.Clear();
  const std::size_t before = node.bytes();
  ASSERT_TRUE(pending.Add("n", BatchOf(1, 1), "x"));
  node.Clear();
  EXPECT_EQ(node.series().size(), 1u);
  EXPECT_LT(node.bytes(), before / 100);
  ASSERT_TRUE(pending.Add("n", BatchOf(2, 5), "x"));
  EXPECT_EQ(node.Find(KeyOf("n"))->points.size(), 1u);
}

TEST(StoredName, IsCleanAndBounded) {
  EXPECT_EQ(StoredName("GPU-1f µ 東"), "GPU-1f µ 東");
  EXPECT_EQ(StoredName(std::string_view("a\0\n\x7f", 4)), "a???");
  EXPECT_EQ(StoredName("\xed\xa0\x80\xf4\x90\x80\x80\xc3"), "????????");
  const std::string long_name(999, 'a');
  EXPECT_EQ(StoredName(fmt::format("{}é", long_name)), long_name);
}

}  // namespace
}  // namespace sharewell::store
