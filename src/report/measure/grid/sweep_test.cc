#include "report/measure/grid/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using measure::CellState;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

measure::SweepResult CoreCurve(const std::string& gpu = "NVIDIA H200") {
  measure::SweepResult result;
  result.name = "cores";
  result.gpu = gpu;
  result.cores = 16;
  result.axes = {"model", "cpus"};
  for (const int cpus : {1, 2, 4, 8}) {
    measure::SweepCell cell;
    cell.cell.axes = {{"model", {"alex,net", {}}}, {"cpus", {std::to_string(cpus), cpus}}};
    cell.cell.label = "cpus=" + std::to_string(cpus);
    cell.cell.cpus = cpus;
    cell.cell.command = {"train", "x y"};
    cell.state = CellState::kDone;
    cell.cell.workload = {"tv:alexnet", 128, "bf16", 4};
    cell.summary.profile.workload = cell.cell.workload;
    cell.summary.profile.gpu = gpu;
    cell.summary.profile.steps_per_second = 10 * std::min(cpus, 4);
    if (!gpu.empty()) cell.summary.profile.busy = 0.25 * std::min(cpus, 4);
    cell.summary.profile.cpu_cores = 0.9 * std::min(cpus, 4);
    cell.summary.uncertainty = 0.01;
    result.cells.push_back(cell);
  }
  measure::DrawConclusions(result);
  return result;
}

TEST(SweepTable, NamesTheKnee) {
  const std::string text = SweepTable(CoreCurve());
  EXPECT_THAT(text, HasSubstr("cores on NVIDIA H200, 16 cores: 4 cells done"));
  EXPECT_THAT(text, HasSubstr("the fewest cpus that keep 97.0 % of the best throughput"));
  EXPECT_THAT(text, HasSubstr("1N1G"));
  EXPECT_THAT(text, HasSubstr("5,120.0"));
  EXPECT_THAT(text, Not(HasSubstr("model")));  // all cells have the same
}

TEST(SweepTable, HasNoColumnsForWhatIsNotThere) {
  EXPECT_THAT(SweepTable(CoreCurve()), HasSubstr("GPU busy"));
  EXPECT_THAT(SweepTable(CoreCurve("")), Not(HasSubstr("GPU busy")));
}

TEST(SweepTable, SaysWhyEachReasonOnce) {
  auto result = CoreCurve();
  for (std::size_t i = 2; i < 4; ++i) {
    result.cells[i].state = CellState::kLeftOut;
    result.cells[i].why = "it asks for too much";
  }
  measure::DrawConclusions(result);
  const std::string text = SweepTable(result);
  EXPECT_THAT(text, HasSubstr("2 cells left out: it asks for too much"));
  EXPECT_THAT(text, HasSubstr("2 left out"));
}

TEST(ProfilesCsv, IsOneRowWithTheCurve) {
  const std::string csv = ProfilesCsv(CoreCurve().profiles);
  EXPECT_THAT(csv, HasSubstr("tv:alexnet,128,bf16,4,NVIDIA H200,40,100,,"));
  EXPECT_THAT(csv, HasSubstr(",1:25;2:50;4:100;8:100,"));
}

TEST(ProfilesCsv, OfAMachineWithoutGpuIsNone) {
  EXPECT_EQ(ProfilesCsv(CoreCurve("").profiles), "");
}

TEST(SweepCellsCsv, QuotesWhatItMust) {
  const std::string csv = SweepCellsCsv(CoreCurve());
  EXPECT_THAT(csv, HasSubstr("axis_model,axis_cpus,workload,batch"));
  EXPECT_THAT(csv, HasSubstr("\"alex,net\",1,tv:alexnet,128,bf16,4,done,NVIDIA H200,10,25,,"));
  EXPECT_THAT(csv, HasSubstr(",train x y\n"));
}

TEST(SweepCharts, AreOfEachFigureThatIsKnown) {
  EXPECT_THAT(SweepCharts(CoreCurve()), ElementsAre(Field(&NamedSvg::name, "throughput-cpus.svg"),
                                                    Field(&NamedSvg::name, "gpu-busy-cpus.svg"),
                                                    Field(&NamedSvg::name, "cpu-cpus.svg")));
  const auto chart = SweepCharts(CoreCurve()).front().svg;
  EXPECT_THAT(chart, HasSubstr("throughput against CPU cores"));
  EXPECT_THAT(chart, HasSubstr("1N1G, NVIDIA H200"));
  EXPECT_THAT(chart, HasSubstr(">knee</text>"));
}

}  // namespace
}  // namespace sharewell::report
