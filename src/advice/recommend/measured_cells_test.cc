#include "advice/recommend/measured_cells.h"

#include <gmock/gmock.h>

namespace sharewell::advice::recommend {
namespace {

using ::testing::HasSubstr;

core::Result<std::vector<MeasuredCell>> Read(std::string_view text) {
  return ReadMeasuredCells(text, "cells.csv", catalogue::GpuCatalogue::Builtin());
}

TEST(MeasuredCells, ReadsASweepsCellsAndPassesOverThoseThatFailed) {
  const auto cells = Read(
      "axis_cpus,workload,batch,precision,workers,state,gpu,steps_per_s,power_w,"
      "uncertainty_percent\n"
      "4,net,64,bf16,4,done,NVIDIA H200,10,300,5\n"
      "8,net,64,bf16,8,failed,NVIDIA H200,,,\n"
      "8,net,64,,8,done,,10,,\n");
  ASSERT_TRUE(cells) << cells.error().message;
  ASSERT_EQ(cells->size(), 1U);
  const Cell& cell = cells->front().cell;
  EXPECT_EQ(cell.setting, (Setting{"H200", "bf16", 64, 4, 4}));
  EXPECT_DOUBLE_EQ(cell.samples.median, 640);
  EXPECT_DOUBLE_EQ(cell.samples.low, 608);
  EXPECT_DOUBLE_EQ(cell.samples.high, 672);
  EXPECT_TRUE(cell.measured());
  EXPECT_FALSE(cell.memory);
}

TEST(MeasuredCells, ACurveIsACellForEachPoint) {
  const auto cells = Read(
      "workload,batch,workers,gpu,steps_per_s,power_w,cpu_curve\n"
      "net,10,4,H200,8,300,1:25;2:50;4:100\n");
  ASSERT_TRUE(cells) << cells.error().message;
  ASSERT_EQ(cells->size(), 3U);
  EXPECT_DOUBLE_EQ((*cells)[0].cell.samples.median, 20);
  EXPECT_EQ((*cells)[0].cell.setting.cores, 1);
  EXPECT_FALSE((*cells)[0].cell.power);
  EXPECT_DOUBLE_EQ((*cells)[2].cell.samples.median, 80);
  EXPECT_EQ((*cells)[2].cell.setting.cores, 4);
  EXPECT_TRUE((*cells)[2].cell.power);
}

TEST(MeasuredCells, ErrorsSayWhereAndWhatToDo) {
  EXPECT_THAT(Read("workload,gpu\na,H200\n").error().message, HasSubstr("steps_per_s"));
  EXPECT_THAT(Read("workload,gpu,batch,steps_per_s\na,Q9,1,1\n").error().message,
              HasSubstr("cells.csv: line 2: unknown GPU model 'Q9'"));
  EXPECT_THAT(Read("workload,gpu,batch,steps_per_s\na,H200,,1\n").error().message,
              HasSubstr("`sharewell sweep`"));
  EXPECT_THAT(Read("workload,gpu,batch,steps_per_s\na,H200,1,-1\n").error().message,
              HasSubstr("line 2, column steps_per_s"));
}

TEST(MeasuredCells, OursAreThereOnce) {
  const auto ours = BuiltinMeasuredCells();
  EXPECT_GT(ours.size(), 200U);
  std::size_t resnet = 0;
  for (const MeasuredCell& cell : ours) {
    EXPECT_EQ(cell.cell.setting.gpu, "H200");
    resnet += cell.workload == "tv:resnet50@224" ? 1 : 0;
  }
  EXPECT_EQ(resnet, 10U);  // 5 of cores.csv, 5 of profiles.csv; profiles-2.csv has them again
}

TEST(MeasuredCells, AFileIsNamedAfterItsWorkload) {
  EXPECT_TRUE(NamedAfter("data/h200/onnx/tv_resnet50_224.onnx", "tv:resnet50@224"));
  EXPECT_TRUE(NamedAfter("tv:resnet50@224", "tv:resnet50@224"));
  EXPECT_FALSE(NamedAfter("tv_resnet50_32.onnx", "tv:resnet50@224"));
}

}  // namespace
}  // namespace sharewell::advice::recommend
