#include "measure/grid/cells_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCells =
    "axis_model,axis_cpus,workload,batch,state,gpu,steps_per_s,gpu_util,uncertainty_percent,why\n"
    "alex,1,alex,64,done,H200,10,50,1,\n"
    "alex,2,alex,64,done,H200,20,80,1,\n"
    "alex,4,alex,64,done,H200,20.1,82,1,\n"
    "alex,64,alex,64,left_out,,,,,no so many cores\n";

TEST(SweepCells, GiveTheCurvesThatTheSweepDrew) {
  const auto result = ReadSweepCells(kCells, "cells.csv");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->axes, ElementsAre("model", "cpus"));
  EXPECT_EQ(result->gpu, "H200");
  EXPECT_EQ(result->Count(CellState::kDone), 3U);
  EXPECT_EQ(result->cells[3].why, "no so many cores");
  ASSERT_EQ(result->plots.size(), 1U);
  const SweepLine& line = result->plots[0].lines.at(0);
  EXPECT_EQ(line.points.size(), 3U);
  EXPECT_EQ(line.points[0].throughput, 640) << "in samples, as every cell says its batch";
  EXPECT_EQ(line.points[0].busy, 0.5);
  ASSERT_TRUE(line.knee);
  EXPECT_EQ(line.knee->at, 2);
}

// The file does not say which command template a cell came from.
TEST(SweepCells, TellsWorkloadsOnTheSameAxesApart) {
  const auto result = ReadSweepCells(
      "axis_cpus,workload,state,steps_per_s\n1,a,done,1\n2,a,done,2\n3,a,done,3\n"
      "1,b,done,10\n2,b,done,20\n3,b,done,30\n",
      "cells.csv");
  ASSERT_TRUE(result);
  ASSERT_EQ(result->plots.size(), 1U);
  EXPECT_EQ(result->plots[0].lines.size(), 2U);
  EXPECT_EQ(result->plots[0].lines[1].name, "b");
}

TEST(SweepCells, RefusesWhatIsNone) {
  for (const auto& [text, words] :
       {std::pair{"a,b\n1,2\n", "no column"}, std::pair{"workload,state,steps_per_s\n", "no cell"},
        std::pair{"workload,state,steps_per_s\na,done,fast\n", "line 2, column steps_per_s"}}) {
    const auto result = ReadSweepCells(text, "cells.csv");
    ASSERT_FALSE(result) << text;
    EXPECT_THAT(result.error().message, HasSubstr(words));
  }
}

}  // namespace
}  // namespace sharewell::measure
