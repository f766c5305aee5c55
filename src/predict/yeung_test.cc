#include "predict/yeung.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

using ::testing::HasSubstr;

double FeatureOf(const Query& query, const std::string& name, bool run = false) {
  const auto names = YeungFeatureNames(run);
  const auto values = YeungFeaturesOf(query, run);
  EXPECT_EQ(names.size(), values.size());
  const auto at = std::find(names.begin(), names.end(), name);
  EXPECT_NE(at, names.end()) << name;
  return at == names.end() ? -1 : values[static_cast<std::size_t>(at - names.begin())];
}

TEST(Yeung, CountsWhatThePaperCounts) {
  const core::GpuModel gpu = TestGpu();
  const graph::Graph image = TestGraph(ImageList(16, 2), 8);
  const Query query = TestQuery(image, gpu);
  EXPECT_EQ(FeatureOf(query, "conv_layers"), 3);
  EXPECT_EQ(FeatureOf(query, "norm_layers"), 2);
  EXPECT_EQ(FeatureOf(query, "linear_layers"), 1);
  EXPECT_EQ(FeatureOf(query, "recurrent_layers"), 0);
  EXPECT_EQ(FeatureOf(query, "input_size"), 8 * 3 * 64 * 64);
  EXPECT_EQ(FeatureOf(query, "batch"), 8);
  // 3 -> 16 and twice 16 -> 16 channels, windows of 9, 64 x 64 pixels; then 16 -> 10.
  EXPECT_EQ(FeatureOf(query, "flops"), 2.0 * 8 * (64 * 64 * 9 * (3 * 16 + 2 * 16 * 16) + 16 * 10));

  const graph::Graph lstm = TestGraph(RecurrentList(128), 8);
  EXPECT_EQ(FeatureOf(TestQuery(lstm, gpu), "recurrent_layers"), 1);
  EXPECT_EQ(FeatureOf(TestQuery(lstm, gpu), "linear_layers"), 3) << "an LSTM is two, and the head";
}

TEST(Yeung, KnowsNothingOfTheGpuThePrecisionOrTheLoader) {
  const core::GpuModel gpu = TestGpu();
  core::GpuModel other = gpu;
  other.bandwidth = core::GBps(100);
  const graph::Graph image = TestGraph(ImageList(16, 2), 8);
  const Query plain = TestQuery(image, gpu);
  const Query half = TestQuery(image, other, graph::Precision::kBf16, 0);
  EXPECT_EQ(YeungFeaturesOf(plain, false), YeungFeaturesOf(half, false));
  EXPECT_NE(YeungFeaturesOf(plain, true), YeungFeaturesOf(half, true));
  EXPECT_EQ(FeatureOf(half, "half", true), 1);
  EXPECT_EQ(FeatureOf(plain, "workers", true), 4);
}

std::vector<std::string> Families(const TestWorld& world) {
  std::vector<std::string> out;
  for (const Row& row : world.rows) out.push_back(row.family);
  return out;
}

TEST(Yeung, EveryLearnerTellsTheUtilisationAndNothingElse) {
  const TestWorld world;
  const auto splits = learn::RandomFolds(world.rows.size(), 3, 1);
  for (const std::string_view learner : YeungLearners()) {
    const auto held = HoldOutYeung(world.rows, splits, {std::string(learner), false, {}});
    ASSERT_TRUE(held) << held.error().message;
    double squares = 0, constant = 0, mean = 0;
    for (const Row& row : world.rows) {
      mean += *row.measured[Index(Figure::kBusy)] / static_cast<double>(world.rows.size());
    }
    for (std::size_t i = 0; i < world.rows.size(); ++i) {
      ASSERT_TRUE(held->of[i]);
      const Figures& told = *held->of[i];
      for (std::size_t f = 0; f < kFigures; ++f) {
        EXPECT_EQ(told[f].has_value(), static_cast<Figure>(f) == Figure::kBusy);
      }
      const double actual = *world.rows[i].measured[Index(Figure::kBusy)];
      EXPECT_GE(*told[Index(Figure::kBusy)], 0);
      EXPECT_LE(*told[Index(Figure::kBusy)], 1);
      squares += std::pow(*told[Index(Figure::kBusy)] - actual, 2);
      constant += std::pow(mean - actual, 2);
    }
    EXPECT_LT(squares, constant) << learner << " learns less than a constant knows";
  }
}

TEST(Yeung, NeverLearnsFromWhatIsHeldOut) {
  TestWorld world;
  const auto splits = learn::GroupFolds(Families(world), 3);
  for (const bool search : {false, true}) {
    const YeungOptions options{"yeung-forest", search, {}};
    const auto before = HoldOutYeung(world.rows, splits, options);
    std::vector<double> kept;
    for (Row& row : world.rows) {
      kept.push_back(*row.measured[Index(Figure::kBusy)]);
      if (row.family == "deep") *row.measured[Index(Figure::kBusy)] = 0.01;
    }
    const auto after = HoldOutYeung(world.rows, splits, options);
    ASSERT_TRUE(before && after);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < world.rows.size(); ++i) {
      const double was = *(*before->of[i])[Index(Figure::kBusy)];
      const double is = *(*after->of[i])[Index(Figure::kBusy)];
      if (world.rows[i].family == "deep") {
        EXPECT_EQ(was, is);
      } else if (was != is) {
        ++moved;
      }
      *world.rows[i].measured[Index(Figure::kBusy)] = kept[i];
    }
    EXPECT_GT(moved, 0U) << "so something is learnt from it where it is not held out";
  }
}

TEST(Yeung, RefusesWhatItCannotLearnFrom) {
  const TestWorld world;
  const auto splits = learn::RandomFolds(world.rows.size(), 3, 1);
  EXPECT_THAT(HoldOutYeung(world.rows, splits, {"yeung-forrest", false, {}}).error().message,
              HasSubstr("did you mean 'yeung-forest'?"));
  const std::span<const Row> few = std::span(world.rows).first(6);
  EXPECT_THAT(HoldOutYeung(few, learn::RandomFolds(6, 2, 1), {}).error().message,
              HasSubstr("too few to learn from; give at least 8"));
}

}  // namespace
}  // namespace sharewell::predict
