// Release builds alone: others need ten times as long and learn the same.
#ifdef NDEBUG

#include "research/evaluate/beside_yeung.h"

#include <gtest/gtest.h>

namespace sharewell::research {
namespace {

// A third of the rows and two folds: the command takes all and ten, and half a minute. The figures
// of all rows are held in evaluation_acceptance_test.cc.
TEST(BesideYeung, OneRunHasEveryLearnerOfThePapersBesideOursAtRandomAndByFamily) {
  const auto set = ReadTrainingSet({"data/h200/profiles.csv"}, catalogue::GpuCatalogue::Builtin());
  ASSERT_TRUE(set) << set.error().message;
  std::size_t last = 0;
  BesideYeungOptions options;
  options.folds = 2;
  options.progress = [&](std::string_view, std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 2 * 8 * 2U);
    EXPECT_EQ(done, ++last);
  };
  const auto compared = CompareWithYeung(*set, options);
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_EQ(compared->rows, 74U);
  EXPECT_EQ(last, 2 * 8 * 2U);
  const auto* ours = compared->Find("mean");
  const auto* theirs = compared->Find("yeung-forest");
  ASSERT_TRUE(ours != nullptr && theirs != nullptr);
  EXPECT_EQ(theirs->paper, 0.154);
  EXPECT_FALSE(ours->paper);
  for (const auto& one : compared->learners) {
    EXPECT_EQ(one.paper.has_value(), one.learner == "yeung-forest") << one.learner;
    EXPECT_GT(one.random, 0.05) << one.learner;
    if (!one.learner.starts_with("yeung-")) continue;
    EXPECT_LT(ours->random, one.random) << one.learner;
    EXPECT_LT(ours->family, one.family) << one.learner;
  }
  EXPECT_EQ(compared->Find("yeung"), nullptr);
}

}  // namespace
}  // namespace sharewell::research

#endif  // NDEBUG
