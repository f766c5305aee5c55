#include "report/simulation/whatif.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using testing::HasSubstr;

simulation::WhatIfResult Sample() {
  simulation::WhatIfResult result;
  result.policies = {{"slot", 4, 4, 400, 250, 150, 1, 0.3, 0, 0},
                     {"sharewell", 4, 4, 190.5, 140, 20, 1.1, {}, 0, 0}};
  result.really = simulation::WhatIfRow{"really", 3, 3, 410, 255, 155, {}, {}, 0, 0};
  result.jobs = 4;
  result.remarks = {"left out: 1 job of unknown length"};
  result.policies[1].jct_curve = {10, 20.5};
  result.changes = {{{"sharewell", 2, 1, 1, -0.25, 1.5, {}, {}},
                     {{17, "a", "ann", 100, 50}},
                     {{18, "b\xff", "bo", 10, 15}}}};
  result.users = {{"ann", 3, 0.5, {100, {}, 90}}};
  return result;
}

TEST(WhatIfReport, IsTheApisAnswer) {
  const auto json = nlohmann::json::parse(WhatIfJson(Sample()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["policies"][1]["name"], "sharewell");
  EXPECT_EQ(json["policies"][1]["makespan_seconds"], 190.5);
  EXPECT_EQ(json["policies"][1]["busy"], nullptr);
  EXPECT_EQ(json["really"]["jct_mean_seconds"], 255);
  EXPECT_EQ(json["jobs"], 4);
  EXPECT_EQ(json["policies"][1]["curves"]["jct_seconds"], (std::vector<double>{10, 20.5}));
  EXPECT_TRUE(json["really"]["curves"]["slowdown"].empty());
  EXPECT_EQ(json["changes"][0]["jobs_sooner"], 2);
  EXPECT_EQ(json["changes"][0]["gains"][0]["number"], 17);
  EXPECT_EQ(json["changes"][0]["losses"][0]["name"], "b\uFFFD") << "broken UTF-8 is replaced";
  EXPECT_EQ(json["users"][0]["jct_mean_seconds"][1], nullptr);
  EXPECT_EQ(json["users"][0]["really_jct_mean_seconds"], 90);
  const simulation::ForecastResult forecast{
      {{18, 1'700'000'000'000, {{0, "GPU-1", "H200"}}, "an idle GPU"}, {19, {}, {}, ""}},
      simulation::ExpectedStart{0, 5, {}, "x"},
      {"r"}};
  const auto told = nlohmann::json::parse(ForecastJson(forecast));
  EXPECT_EQ(told["jobs"][0]["start_ms"], 1'700'000'000'000);
  EXPECT_EQ(told["jobs"][0]["gpus"][0]["index"], 0);
  EXPECT_EQ(told["jobs"][1]["start_ms"], nullptr);
  EXPECT_EQ(nlohmann::json::parse(ConsideredJson(forecast))["start_ms"], 5);
  EXPECT_EQ(ConsideredJson({}), "null");
}

TEST(WhatIfReport, IsATable) {
  const std::string table = WhatIfTable(Sample(), 60);
  EXPECT_THAT(table, HasSubstr("                              really    slot  sharewell\n"));
  EXPECT_THAT(table, HasSubstr("makespan                      6m 50s  6m 40s     3m 11s\n"));
  EXPECT_THAT(table, HasSubstr("GPU busy                           -  30.0 %          -\n"));
  EXPECT_THAT(table, testing::EndsWith("\n\nnote: left out: 1 job of unknown length\n"));
}

}  // namespace
}  // namespace sharewell::report
