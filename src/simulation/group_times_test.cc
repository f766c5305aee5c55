#include "simulation/group_times.h"

#include <gtest/gtest.h>

namespace sharewell::simulation {
namespace {

TEST(GroupTimes, EverySizeHasItsClass) {
  const auto name = [](int gpus) { return kSizes[SizeOf(gpus)].name; };
  EXPECT_EQ(name(1), "1");
  EXPECT_EQ(name(2), "2-4");
  EXPECT_EQ(name(4), "2-4");
  EXPECT_EQ(name(5), "5-8");
  EXPECT_EQ(name(8), "5-8");
  EXPECT_EQ(name(9), "9+");
  EXPECT_EQ(name(4096), "9+");
  EXPECT_EQ(name(0), "cpu");
  EXPECT_EQ(SizeInWords("9+"), "more than 8 GPUs");
}

TEST(GroupTimes, BySizeLeavesOutWhatIsNotThere) {
  GroupedTimes times;
  times.Add(0, 1, 10, 100);
  times.Add(0, 1, 30, 300);
  times.Add(1, 8, 1000, 2000);
  times.Add(1, 0, 5, {});
  const auto sizes = times.BySize();
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0], (GroupTimes{"1", 2, 20, 29.8, 200, 298}));
  EXPECT_EQ(sizes[1], (GroupTimes{"5-8", 1, 1000, 1000, 2000, 2000}));
  EXPECT_EQ(sizes[2], (GroupTimes{"cpu", 1, 5, 5, {}, {}}));
}

TEST(GroupTimes, WhoWaitsLongestIsTheFirstUser) {
  GroupedTimes times;
  times.Add(0, 1, 10, 100);
  times.Add(1, 1, 90, 100);
  times.Add(3, 1, {}, {});  // has not started: nothing is known of it
  times.Add(2, 1, 10, 50);
  const auto users = times.ByUser({"zoe", "ann", "bob", "cas"});
  ASSERT_EQ(users.size(), 4U);
  EXPECT_EQ(users[0].name, "ann");
  EXPECT_EQ(users[1].name, "bob");
  EXPECT_EQ(users[2].name, "zoe");
  EXPECT_EQ(users[3], (GroupTimes{"cas", 1, {}, {}, {}, {}}));
}

}  // namespace
}  // namespace sharewell::simulation
