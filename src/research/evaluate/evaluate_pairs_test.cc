// The limits for speeds beside others, on our own groups of workloads that were seen in others and
// that were not, and for pairs held out of Gavel's.
#include "research/evaluate/evaluate_pairs.h"

#include <gtest/gtest.h>

#include "advice/measured_groups.h"
#include "advice/prediction.h"
#include "platform/files/test_folder.h"

namespace sharewell::research {
namespace {

void Tell(const std::string& what, const SpeedErrors& errors) {
  ::testing::Test::RecordProperty(what + "_mean_absolute", std::to_string(errors.mean_absolute));
  ::testing::Test::RecordProperty(what + "_coverage", std::to_string(errors.coverage));
  std::printf("%s: %zu speeds, mean absolute error %.4f, bias %+.4f, coverage %.3f, width %.3f\n",
              what.c_str(), errors.speeds, errors.mean_absolute, errors.bias, errors.coverage,
              errors.width);
}

TEST(EvaluatePairs, KeepsTheBarsOnOurOwn) {
  const auto trained = advice::BuiltinModel();
  ASSERT_TRUE(trained) << trained.error().message;
  const auto measured = advice::BuiltinColocations(&trained->predictor);
  ASSERT_TRUE(measured) << measured.error().message;
  const auto found = EvaluatePairs(measured->groups);
  ASSERT_TRUE(found) << found.error().message;
  Tell("model", found->model);
  Tell("seen", found->seen);
  Tell("unseen", found->unseen.measured);
  Tell("unseen_from_graphs", found->unseen.from_graphs);
  std::printf("groups %zu, left out %zu, constant %.4f, spearman %.3f, from graphs %.3f\n",
              found->unseen.groups, measured->left_out, found->unseen.constant,
              found->unseen.spearman, found->unseen.spearman_from_graphs);
  std::printf("repeats: %zu groups, %.4f\n", found->repeated, found->repeat_noise);
  EXPECT_LE(found->seen.mean_absolute, 0.07);
  EXPECT_LE(found->unseen.measured.mean_absolute, 0.075);
  EXPECT_LE(found->unseen.from_graphs.mean_absolute, 0.09);
  EXPECT_GE(found->unseen.spearman, 0.7);
  EXPECT_GT(found->unseen.constant, 1.5 * found->unseen.measured.mean_absolute);
  for (const auto& errors : {found->seen, found->unseen.measured, found->unseen.from_graphs}) {
    EXPECT_GE(errors.coverage, 0.86) << "bounds at 0.05 and 0.95";
    EXPECT_LE(errors.width, 0.4);
  }
}

// What the header says, and the policies use, is what `sharewell-lab train` finds.
TEST(Interference, HasTheCoefficientsThatTheMeasurementsGive) {
  const auto measured = advice::BuiltinColocations();
  ASSERT_TRUE(measured) << measured.error().message;
  const interference::Coefficients found =
      predict::FitCoefficients(predict::Averaged(measured->groups));
  const interference::Coefficients shipped;
  EXPECT_NEAR(shipped.host / found.host, 1, 0.01);
  EXPECT_NEAR(shipped.neighbour / found.neighbour, 1, 0.01);
  EXPECT_NEAR(shipped.dram / found.dram, 1, 0.01);
  EXPECT_NEAR(shipped.wait / found.wait, 1, 0.01);
  EXPECT_NEAR(shipped.length / found.length, 1, 0.01);
  EXPECT_NEAR(shipped.narrow / found.narrow, 1, 0.01);
  EXPECT_NEAR(shipped.room / found.room, 1, 0.01);
  EXPECT_NEAR(shipped.residual / found.residual, 1, 0.01);
  EXPECT_NEAR(shipped.residual_of_three / found.residual_of_three, 1, 0.01);
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
}  // namespace sharewell::research
