#include "report/measure/grid/colocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using measure::CellState;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

measure::RunSummary Run(const std::string& name, double rate) {
  measure::RunSummary run;
  run.profile.workload = {name, 64, "bf16", 4};
  run.profile.gpu = "NVIDIA H200";
  run.profile.steps_per_second = rate;
  run.profile.busy = 0.7;
  run.device_busy = 0.9;
  return run;
}

// RN and D2V share well; DLRM falls behind RN, and does not fit beside D2V.
measure::ColocateResult Example() {
  measure::ColocateResult result;
  result.name = "packing";
  result.gpu = "NVIDIA H200";
  result.mps = true;
  for (const auto& [name, rate] : {std::pair("RN", 20.0), {"D2V", 40.0}, {"DLRM", 100.0}}) {
    measure::AloneRun alone;
    alone.name = name;
    alone.state = CellState::kDone;
    alone.summary = Run(std::string("w:") + name, rate);
    result.alone.push_back(alone);
  }
  const auto add = [&](std::vector<std::size_t> members, std::vector<double> rates) {
    measure::ColocatedSet group;
    group.members = std::move(members);
    group.state = CellState::kDone;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      group.runs.push_back(
          Run(result.alone[group.members[i]].summary.profile.workload.name, rates[i]));
    }
    result.groups.push_back(group);
  };
  add({0, 1}, {19.8, 40.4});
  add({0, 2}, {16, 30});
  add({0, 1, 2}, {10, 20, 50});
  measure::ColocatedSet none;
  none.members = {1, 2};
  none.state = CellState::kFailed;
  none.fits = false;
  none.why = "out of memory";
  result.groups.push_back(none);
  measure::CompareWithAlone(result);
  return result;
}

TEST(ColocateTable, IsTheMatrixAndNamesThePairs) {
  const std::string text = ColocateTable(Example());
  EXPECT_THAT(text, HasSubstr("packing on NVIDIA H200, under CUDA MPS"));
  EXPECT_THAT(text, HasSubstr("RN                       -    1.01    1.25\n"));
  EXPECT_THAT(text, HasSubstr("D2V                   1.00       -  no fit\n"));
  EXPECT_THAT(text, HasSubstr("DLRM                  3.33  no fit       -\n"));
  EXPECT_THAT(text, HasSubstr("complementary (each keeps 95.0 % of its speed): RN + D2V\n"));
  EXPECT_THAT(text, HasSubstr("by taking turns): RN + DLRM\n"));
  EXPECT_THAT(text, HasSubstr("do not fit into memory together: D2V + DLRM\n"));
  EXPECT_THAT(text, HasSubstr("RN + D2V + DLRM  0.50  0.50  0.50\n"));
}

TEST(GroupsCsv, HasZerosWhereAPairDoesNotFitAndSharesWhereTheyWereGiven) {
  auto example = Example();
  example.alone[0].sm_percent = 80;
  const auto files = GroupsCsv(example);
  ASSERT_THAT(files, ElementsAre(Field(&NamedCsv::name, "pairs.csv"),
                                 Field(&NamedCsv::name, "triples.csv")));
  EXPECT_THAT(files[0].csv, HasSubstr("w:RN,64,bf16,4,16,20,,80,w:DLRM,64,bf16,4,30,100,,,1,NVIDIA "
                                      "H200,90,,,\n"));
  EXPECT_THAT(files[0].csv, HasSubstr("w:D2V,64,bf16,4,0,40,,,w:DLRM,64,bf16,4,0,100,,,1,"));
}

TEST(ColocateCharts, AreTheHeatMapAndTheScatter) {
  const auto charts = ColocateCharts(Example());
  ASSERT_THAT(charts, ElementsAre(Field(&NamedSvg::name, "packing.svg"),
                                  Field(&NamedSvg::name, "slowdown.svg")));
  EXPECT_THAT(charts[0].svg, HasSubstr("DLRM beside RN: 3.33"));
  EXPECT_THAT(charts[0].svg, HasSubstr(">no fit</text>"));
  EXPECT_THAT(charts[1].svg, HasSubstr("DLRM + RN: 3.33"));
}

TEST(ColocateJson, HasNullForWhatIsNotKnown) {
  const std::string json = ColocateJson(Example());
  EXPECT_THAT(json, HasSubstr("\"fit\": \"does_not_fit\""));
  EXPECT_THAT(json, HasSubstr("\"speed_ratio\": null"));
}

}  // namespace
}  // namespace sharewell::report
