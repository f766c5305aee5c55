#include "core/gpu_islands.h"

#include <gmock/gmock.h>

namespace sharewell::core {
namespace {

using ::testing::HasSubstr;

GpuIslands Read(std::string_view text, int gpus) {
  const auto islands = GpuIslands::Parse(text, gpus);
  EXPECT_TRUE(islands) << islands.error().message;
  return islands.value_or(GpuIslands());
}

TEST(GpuIslandsTest, DistanceCountsTheLevelsThatDivide) {
  const GpuIslands islands = Read("0,1|2,3|4,5|6,7/0-3|4-7", 8);
  EXPECT_EQ(islands.Distance(0, 1), 0);
  EXPECT_EQ(islands.Distance(1, 2), 1);
  EXPECT_EQ(islands.Distance(3, 4), 2);
  EXPECT_EQ(islands.Distance(4, 3), 2);
}

TEST(GpuIslandsTest, IsWrittenAsItIsRead) {
  for (const char* text : {"0,1|2,3", "0,2|1,3", "0-3|4-7", "0,1|2,3|4,5|6,7/0-3|4-7", "0|1-3"}) {
    EXPECT_EQ(Read(text, 8).Of({0, 1, 2, 3, 4, 5, 6, 7}), Read(text, 8)) << text;
    EXPECT_EQ(Read(Read(text, 8).Text(), 8), Read(text, 8)) << text;
  }
  EXPECT_EQ(Read("3,2|1,0", 4).Text(), "0,1|2,3");
  EXPECT_EQ(GpuIslands().Text(), "");
}

TEST(GpuIslandsTest, AGpuThatIsNotNamedIsAnIslandOfItsOwn) {
  const GpuIslands islands = Read("0,1", 3);
  EXPECT_EQ(islands.Distance(0, 1), 0);
  EXPECT_EQ(islands.Distance(1, 2), 1);
  EXPECT_EQ(islands.Text(), "0,1|2");
}

TEST(GpuIslandsTest, OneIslandOrNoneTellsNothing) {
  EXPECT_FALSE(Read("0-3", 4).known());
  EXPECT_FALSE(Read("0|1|2|3", 4).known());
  EXPECT_FALSE(GpuIslands().known());
  EXPECT_EQ(GpuIslands().Distance(0, 5), 0);
}

TEST(GpuIslandsTest, WhatIsWrongIsSaid) {
  const auto why = [](std::string_view text, int gpus = 4) {
    const auto islands = GpuIslands::Parse(text, gpus);
    EXPECT_FALSE(islands) << text;
    return islands ? "" : islands.error().message;
  };
  EXPECT_THAT(why("0,1|1,2"), HasSubstr("GPU 1 is in two islands"));
  EXPECT_THAT(why("0-9"), HasSubstr("from 0 to 3"));
  EXPECT_THAT(why("3-1"), HasSubstr("from 3 to 3"));
  EXPECT_THAT(why("0,1|2,3/0,2|1,3"), HasSubstr("does not lie within"));
  EXPECT_THAT(why("0,1|2,3", 65), HasSubstr("1 to 64 GPUs"));
  for (const char* text : {"", "|", "0,", "0,1|", "/", "0,1/", "-1", "a", "0 1", "0--1", "0-"}) {
    EXPECT_THAT(why(text), HasSubstr("write them as in")) << text;
  }
}

TEST(GpuIslandsTest, FromDistancesEveryThatDividesIsALevel) {
  // Two pairs joined by NVLink (0) on each of two processors (2 within, 3 between).
  std::vector<std::vector<int>> distances(8, std::vector<int>(8));
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      distances[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = a / 2 == b / 2   ? 0
                                                                            : a / 4 == b / 4 ? 2
                                                                                             : 3;
    }
  }
  EXPECT_EQ(GpuIslands::FromDistances(distances).Text(), "0,1|2,3|4,5|6,7/0-3|4-7");
  // Behind one NVLink switch all are as near.
  EXPECT_FALSE(GpuIslands::FromDistances({{0, 0}, {0, 0}}).known());
  EXPECT_FALSE(GpuIslands::FromDistances({{0}}).known());
  EXPECT_FALSE(GpuIslands::FromDistances({}).known());
}

TEST(GpuIslandsTest, ChainsOfNearGpusAreOneIsland) {
  EXPECT_EQ(
      GpuIslands::FromDistances({{0, 0, 3, 3}, {0, 0, 0, 3}, {3, 0, 0, 3}, {3, 3, 3, 0}}).Text(),
      "0-2|3");
}

TEST(GpuIslandsTest, OfSomeGpusNumberedAnew) {
  const GpuIslands islands = Read("0,1|2,3|4,5|6,7/0-3|4-7", 8);
  EXPECT_EQ(islands.Of({1, 2, 3, 6}).Text(), "0|1,2|3/0-2|3");
  EXPECT_EQ(islands.Of({0, 4}).Text(), "") << "two that are apart have no island";
  EXPECT_EQ(islands.Of({0, 4, 5}).Distance(1, 2), 0);
}

}  // namespace
}  // namespace sharewell::core
