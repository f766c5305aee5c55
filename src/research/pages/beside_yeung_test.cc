#include "research/pages/beside_yeung.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "research/pages/yeung_charts.h"

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;

BesideYeung Compared() {
  return {216,
          51,
          10,
          {{"yeung-forest", 0.154, 0.31, 0.42}, {"mean", {}, 0.153, 0.177}},
          {{"tv:x batch 8 bf16", "x", 1e9, 0.5}, {"tv:y batch 8 bf16", "y", 1e12, 0.9}}};
}

TEST(BesideYeungReport, OneTableHasThePaperRandomRowsAndFamilies) {
  const std::string text = BesideYeungTable(Compared());
  EXPECT_THAT(text, HasSubstr("216 workloads of 51 families, 10 folds"));
  EXPECT_THAT(text, HasSubstr("yeung-forest  0.154           0.310              0.420"));
  EXPECT_THAT(text, HasSubstr("0.153              0.177"));
  EXPECT_THAT(text, HasSubstr("has seen the\n          rows held out"));
}

TEST(BesideYeungReport, WhatThePaperDoesNotGiveIsNull) {
  const auto json = nlohmann::json::parse(BesideYeungJson(Compared(), {"p.csv"}));
  EXPECT_EQ(json["profiles"][0], "p.csv");
  EXPECT_EQ(json["learners"][0]["paper_rmsle"], 0.154);
  EXPECT_EQ(json["learners"][0]["family_rmsle"], 0.42);
  EXPECT_TRUE(json["learners"][1]["paper_rmsle"].is_null());
}

TEST(YeungCharts, SayWhatWasMeasuredAndEscapeIt) {
  auto compared = Compared();
  compared.workloads[0].workload = "a<b";
  const std::string flops = FlopsUtilisationSvg(compared);
  EXPECT_THAT(flops, HasSubstr("2 workloads alone; rank correlation 1.00"));
  EXPECT_THAT(flops, HasSubstr("a&lt;b: 1e+09 FLOPs, 50 %"));
  EXPECT_THAT(FlopsUtilisationSvg({}), HasSubstr("0 workloads alone; rank correlation -"));
  const std::string slowdown =
      UtilisationSlowdownSvg({{"a", "b", 2, 1.2, 0.3, true}, {"b", "a", 2, 1.4, 0.5, false}});
  EXPECT_THAT(slowdown, HasSubstr("2 jobs beside others under MPS; correlation 1.00"));
  EXPECT_THAT(slowdown, HasSubstr("a beside b: +30 %"));
}

}  // namespace
}  // namespace sharewell::research
