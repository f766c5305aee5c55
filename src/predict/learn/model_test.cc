#include "predict/learn/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

using testing::HasSubstr;

// The simplest spec of a kind, made quick.
LearnerSpec Quick(std::string_view kind) {
  LearnerSpec spec = Grid(kind)->front();
  if (auto* boosted = std::get_if<BoostingOptions>(&spec.options)) boosted->rounds = 30;
  if (auto* forest = std::get_if<ForestOptions>(&spec.options)) forest->trees = 20;
  return spec;
}

class Learner : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Learner, testing::ValuesIn(Kinds()),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(Learner, GridIsOfItsKindAndSound) {
  const auto grid = Grid(GetParam());
  ASSERT_TRUE(grid);
  EXPECT_GE(grid->size(), 4u);
  for (std::size_t i = 0; i < grid->size(); ++i) {
    EXPECT_EQ((*grid)[i].Kind(), GetParam());
    EXPECT_TRUE((*grid)[i].Check());
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE((*grid)[i].Describe(), (*grid)[j].Describe());
  }
}

TEST_P(Learner, SameSpecAndTableSameRegressor) {
  const Table table = Friedman(120, 6, 1);
  EXPECT_EQ(Fit(Quick(GetParam()), table), Fit(Quick(GetParam()), table));
}

TEST_P(Learner, ConstantTargetConstantAnswer) {
  Table table = Friedman(40, 6, 1);
  for (double& target : table.targets) target = -0.7;
  const auto regressor = Fit(Quick(GetParam()), table);
  ASSERT_TRUE(regressor);
  EXPECT_NEAR(regressor->Predict(Friedman(1, 6, 2).Row(0)), -0.7, 1e-15);
  for (double share : regressor->Importance()) EXPECT_EQ(share, 0);
}

TEST_P(Learner, ImportanceIsShares) {
  const auto importance = Fit(Quick(GetParam()), Friedman(120, 6, 1))->Importance();
  ASSERT_EQ(importance.size(), 6u);
  EXPECT_NEAR(std::accumulate(importance.begin(), importance.end(), 0.0), 1, 1e-9);
}

TEST_P(Learner, AnswersRowsOfWhichNothingIsKnown) {
  const auto regressor = Fit(Quick(GetParam()), Friedman(120, 6, 1));
  EXPECT_TRUE(std::isfinite(regressor->Predict(std::vector<double>(6, kUnknownValue))));
}

TEST_P(Learner, TakesAFewRows) {
  for (std::size_t rows : {1, 2, 3}) {
    const auto regressor = Fit(Quick(GetParam()), Friedman(rows, 6, 1));
    ASSERT_TRUE(regressor);
    EXPECT_TRUE(std::isfinite(regressor->Predict(Friedman(1, 6, 2).Row(0))));
  }
}

TEST_P(Learner, RefusesWhatCannotBeLearnt) {
  Table table = Friedman(10, 3, 1);
  table.targets[4] = kUnknownValue;
  EXPECT_THAT(Fit(Quick(GetParam()), table).error().message, HasSubstr("row 5"));
}

TEST(Regressor, AMeanIsTheMeanOfItsMembers) {
  const Table table = Friedman(100, 4, 1);
  const LearnerSpec linear{LinearOptions{1}};
  const LearnerSpec forest = Quick("forest");
  const auto mean = Fit({MeanOptions{{linear, forest}}}, table);
  const auto row = table.Row(3);
  const double a = Fit(linear, table)->Predict(row);
  const double b = Fit(forest, table)->Predict(row);
  EXPECT_DOUBLE_EQ(mean->Predict(row), (a + b) / 2);
}

TEST(Regressor, SpreadIsThereWhereSomethingDiffers) {
  const Table table = Friedman(100, 4, 1);
  const auto spread = [&](std::string_view kind) {
    return Fit(Quick(kind), table)->Spread(table.Row(0));
  };
  EXPECT_FALSE(spread("linear"));
  EXPECT_FALSE(spread("boosted"));
  for (std::string_view kind : {"forest", "extra", "gaussian", "mean"}) {
    ASSERT_TRUE(spread(kind)) << kind;
    EXPECT_GE(*spread(kind), 0);
  }
}

TEST(LearnerSpec, NamesTheOptionThatIsWrong) {
  const auto message = [](const LearnerSpec& spec) {
    const auto checked = spec.Check();
    return checked ? std::string("nothing is wrong") : checked.error().message;
  };
  BoostingOptions boosted;
  boosted.rounds = 0;
  EXPECT_THAT(message({boosted}), HasSubstr("boosted: rounds is 0; it must be from 1"));
  ForestOptions forest;
  forest.colsample_node = 0;
  EXPECT_THAT(message({forest}), HasSubstr("forest: colsample_node is 0"));
  EXPECT_THAT(message({LinearOptions{0}}), HasSubstr("linear: lambda is 0"));
  GaussianOptions gaussian;
  gaussian.noise = -1;
  EXPECT_THAT(message({gaussian}), HasSubstr("gaussian: noise is -1"));
  EXPECT_THAT(message({MeanOptions{}}), HasSubstr("needs learners"));
  const LearnerSpec inner{MeanOptions{{{LinearOptions{1}}}}};
  EXPECT_THAT(message({MeanOptions{{inner}}}), HasSubstr("mean of means"));
  EXPECT_THAT(message({MeanOptions{{{forest}}}}), HasSubstr("mean: forest: colsample_node"));
}

TEST(LearnerSpec, AnUnknownKindIsAnsweredWithThoseThereAre) {
  EXPECT_THAT(Grid("boosting").error().message,
              HasSubstr("no learner \"boosting\"; there are linear, boosted"));
}

}  // namespace
}  // namespace sharewell::predict::learn
