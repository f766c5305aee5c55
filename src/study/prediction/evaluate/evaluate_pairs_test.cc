// The limits for speeds beside others: 0.06 and 0.095 for workloads seen and unseen on our own
// pairs, 0.03 for pairs held out of Gavel's.
#include "study/prediction/evaluate/evaluate_pairs.h"

#include <gtest/gtest.h>

#include "catalogue/builtin_measurements.h"
#include "platform/files/test_folder.h"
#include "study/prediction/measured_groups.h"

namespace sharewell::study {
namespace {

void Tell(const std::string& what, const SpeedErrors& errors) {
  ::testing::Test::RecordProperty(what + "_mean_absolute", std::to_string(errors.mean_absolute));
  ::testing::Test::RecordProperty(what + "_coverage", std::to_string(errors.coverage));
  std::printf("%s: %zu speeds, mean absolute error %.4f, bias %+.4f, coverage %.3f, width %.3f\n",
              what.c_str(), errors.speeds, errors.mean_absolute, errors.bias, errors.coverage,
              errors.width);
}

TEST(EvaluatePairs, KeepsTheBarsOnOurOwn) {
  const auto groups =
      ColocationsOf(catalogue::BuiltinGroups(), catalogue::BuiltinMeasurements().profiles);
  ASSERT_TRUE(groups) << groups.error().message;
  const auto found = EvaluatePairs(*groups);
  ASSERT_TRUE(found) << found.error().message;
  Tell("model", found->model);
  Tell("seen", found->seen);
  Tell("unseen", found->unseen);
  Tell("unseen_predicted", found->unseen_predicted);
  RecordProperty("repeat_noise", std::to_string(found->repeat_noise));
  std::printf("repeats: %zu pairs, %.4f\n", found->repeated, found->repeat_noise);
  EXPECT_EQ(found->seen.speeds, found->unseen.speeds);
  EXPECT_NEAR(found->model.mean_absolute, 0.076, 0.002);
  EXPECT_LE(found->seen.mean_absolute, 0.06);
  EXPECT_LE(found->unseen.mean_absolute, 0.095);
  EXPECT_LE(found->unseen_predicted.mean_absolute, 0.095);
  EXPECT_NEAR(found->repeat_noise, 0.055, 0.005);
  for (const auto& errors : {found->seen, found->unseen, found->unseen_predicted}) {
    EXPECT_GE(errors.coverage, 0.88) << "bounds at 0.05 and 0.95";
    EXPECT_LE(errors.width, 0.35);
  }
}

TEST(EvaluatePairs, KeepsTheBarOnGavels) {
  SHAREWELL_NEEDS_DATA(path, "gavel/gavel_colocation_pairs.csv");
  const auto pairs = ReadNamedPairs(path);
  ASSERT_TRUE(pairs) << pairs.error().message;
  const auto errors = EvaluateNamedPairs(*pairs, {5, 1});
  ASSERT_TRUE(errors) << errors.error().message;
  Tell("gavel", *errors);
  EXPECT_LE(errors->mean_absolute, 0.03);
}

}  // namespace
}  // namespace sharewell::study
