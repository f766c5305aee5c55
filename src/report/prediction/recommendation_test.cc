#include "report/prediction/recommendation.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using advice::recommend::Goal;
using advice::recommend::Recommendation;
using ::testing::HasSubstr;

Recommendation Example() {
  Recommendation answer;
  answer.model = "net.onnx";
  answer.workload = "net";
  answer.goal = Goal::kEnergy;
  answer.cell.setting = {"H200", "bf16", 128, 4, 8};
  answer.cell.samples = {{2000, 1800, 2200}, core::Source::kObserved};
  answer.cell.from = "cells.csv";
  answer.joules = core::Estimated<>{{0.05, 0.04, 0.06}, core::Source::kObserved};
  answer.choices = {
      {"gpu", "H200", core::Source::kObserved, "cells.csv", "the only one asked for."},
      {"cores", "8", core::Source::kObserved, "cells.csv", "the fewest."}};
  answer.batches.largest = 992;
  answer.batches.memory = core::Estimated<>{{50e9, 40e9, 60e9}};
  answer.gpus = {{"H200", answer.cell, answer.joules, {}, {}, true, ""},
                 {"T4", {}, {}, {}, {}, false, "batch 1 needs too much"}};
  answer.sharing.advice = "perhaps";
  answer.sharing.twice = core::Estimated<>{{0.6, 0.5, 0.7}};
  answer.remarks = {"The price of H200 is unknown."};
  return answer;
}

TEST(Recommendation, TextHasChoicesFiguresAndWhatIsUnknown) {
  const std::string text = RecommendationText(Example());
  EXPECT_THAT(text, HasSubstr("net.onnx, for energy (measured as net)\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("CPU cores +8 +observed: cells\\.csv"));
  EXPECT_THAT(text, ::testing::ContainsRegex("samples a second +2,000 +1,800 +2,200 +observed"));
  EXPECT_THAT(text, ::testing::ContainsRegex("cost of a million samples +unknown"));
  EXPECT_THAT(text, HasSubstr("largest that fits    992  (46.6 GiB, at most 55.9 GiB)"));
  EXPECT_THAT(text, HasSubstr("T4: batch 1 needs too much."));
  EXPECT_THAT(text, HasSubstr("The price of H200 is unknown.\n"));
}

TEST(Recommendation, JsonHasNullForWhatIsUnknown) {
  const auto json = nlohmann::json::parse(RecommendationJson(Example()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["goal"], "energy");
  EXPECT_EQ(json["recommendation"]["batch"], 128);
  EXPECT_EQ(json["recommendation"]["cpu_cores"], 8);
  EXPECT_EQ(json["recommendation"]["share"], "perhaps");
  EXPECT_EQ(json["figures"]["samples_per_second"]["p05"], 1800);
  EXPECT_EQ(json["figures"]["samples_per_second"]["source"], "observed");
  EXPECT_TRUE(json["figures"]["cost_per_million_samples"].is_null());
  EXPECT_TRUE(json["batches"]["best_for_cost"].is_null());
  EXPECT_EQ(json["batches"]["largest_that_fits"], 992);
  EXPECT_TRUE(json["gpus"][1]["cell"].is_null());
  EXPECT_EQ(json["gpus"][1]["why_not"], "batch 1 needs too much");
  EXPECT_EQ(json["choices"][1]["why"], "the fewest.");
}

}  // namespace
}  // namespace sharewell::report
