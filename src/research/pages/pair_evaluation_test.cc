#include "research/pages/pair_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PairEvaluation, TextAndJson) {
  PairEvaluation ours;
  ours.seen = {20, 0.0552, -0.01, 0.9, 0.2};
  ours.unseen.measured = {20, 0.061, 0.02, 0.91, 0.25};
  ours.unseen.constant = 0.141;
  ours.unseen.spearman = 0.763;
  ours.unseen.spearman_from_graphs = 0.641;
  ours.repeated = 1;
  ours.repeat_noise = 0.0549;
  const std::string text = PairEvaluationText(ours, std::nullopt);
  EXPECT_THAT(text,
              ::testing::ContainsRegex(
                  "group held out, its workloads seen in others +20 +0\\.055 +-0\\.010 +90\\.0 %"));
  EXPECT_THAT(text, ::testing::ContainsRegex("no workload of the group seen +20 +0\\.061"));
  EXPECT_THAT(text, HasSubstr("1 group was measured more than once"));
  EXPECT_THAT(text, HasSubstr("A constant is off by 0.141."));
  EXPECT_THAT(text, HasSubstr("(Spearman) of 0.763, from graphs 0.641"));
  EXPECT_THAT(text, Not(HasSubstr("Gavel")));
  EXPECT_THAT(PairEvaluationText(ours, SpeedErrors{}), HasSubstr("Gavel"));

  const auto json = nlohmann::json::parse(PairEvaluationJson(ours, SpeedErrors{7, 0.028}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["pairs"]["workload_held_out"]["mean_absolute_error"], 0.061);
  EXPECT_EQ(json["pairs"]["gavel_pair_held_out"]["speeds"], 7);
  EXPECT_EQ(json["pairs"]["workload_held_out"]["spearman_of_sums"], 0.763);
  EXPECT_EQ(json["pairs"]["constant"]["mean_absolute_error"], 0.141);
  EXPECT_EQ(json["pairs"]["repeats"]["pairs"], 1);
}

}  // namespace
}  // namespace sharewell::research
