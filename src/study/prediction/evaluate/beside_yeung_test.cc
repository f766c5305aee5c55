// Release builds alone: others need ten times as long and learn the same.
#ifdef NDEBUG

#include "study/prediction/evaluate/beside_yeung.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sharewell::study {
namespace {

// Fewer folds than the command's ten: what is to be seen is seen with three.
TEST(BesideYeung, OursIsBetterOnTheSameRowsAndThePapersFiguresAreOfRandomRows) {
  const auto set = ReadTrainingSet({"data/h200/profiles.csv", "data/h200/profiles-2.csv"},
                                   catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(set) << set.error().message;
  const auto compared = CompareWithYeung(*set, {3, {}});
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_EQ(compared->rows, 216U);
  for (const auto& one : compared->learners) {
    fmt::print("{}: random {:.3f}, family {:.3f}\n", one.learner, one.random, one.family);
    EXPECT_EQ(one.paper.has_value(), one.learner == "yeung-forest");
  }
}

}  // namespace
}  // namespace sharewell::study

#endif  // NDEBUG
