#include "report/prediction/beside_yeung.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;

study::BesideYeung Compared() {
  return {216, 51, 10, {{"yeung-forest", 0.154, 0.31, 0.42}, {"mean", {}, 0.153, 0.177}}, {}};
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

}  // namespace
}  // namespace sharewell::report
