#include "advice/recommend/choose.h"

#include <gtest/gtest.h>

namespace sharewell::advice::recommend {
namespace {

Cell At(std::int64_t batch, double cores, double samples,
        core::Source source = core::Source::kPredicted) {
  Cell cell;
  cell.setting = {"H200", "bf16", batch, static_cast<int>(cores), cores};
  cell.samples = {core::Interval<>::Unbounded(samples), source};
  cell.from = "somewhere";
  return cell;
}

Cell Measured(std::int64_t batch, double cores, double samples) {
  return At(batch, cores, samples, core::Source::kObserved);
}

Setting Choice(const std::vector<Cell>& cells, Goal goal = Goal::kThroughput,
               const Prices& prices = {}) {
  const auto chosen = Choose(cells, goal, prices);
  EXPECT_TRUE(chosen);
  return chosen ? cells[chosen->at].setting : Setting{};
}

TEST(Choose, TakesTheLeastThatKeepsTheBest) {
  const std::vector<Cell> cells = {At(64, 2, 600),  At(64, 4, 900),   At(128, 4, 980),
                                   At(128, 8, 995), At(128, 16, 996), At(256, 16, 1000)};
  // 97 % of 1000 are kept by batch 128; of those on 4 cores.
  EXPECT_EQ(Choice(cells), cells[2].setting);
}

TEST(Choose, SmoothsWhatWasMeasuredOverCores) {
  // A repeat of the plateau that came out 4 % higher is no reason for twice the cores.
  std::vector<Cell> cells = {Measured(64, 1, 300), Measured(64, 2, 600), Measured(64, 4, 990),
                             Measured(64, 8, 1030), Measured(64, 16, 980)};
  for (Cell& cell : cells) cell.samples.high = 1.05 * cell.samples.median;
  EXPECT_EQ(Choice(cells), cells[2].setting);
  EXPECT_NEAR(Smoothed(cells)[3], Smoothed(cells)[4], 1e-9);
  EXPECT_EQ(Smoothed(std::vector<Cell>{At(64, 1, 3), At(64, 2, 2)}), (std::vector<double>{3, 2}));
}

TEST(Choose, APredictionMustPromiseMoreThanWhatWasMeasured) {
  std::vector<Cell> cells = {Measured(64, 4, 1000), At(128, 4, 1040)};
  EXPECT_EQ(Choice(cells), cells[0].setting);
  cells.push_back(At(256, 4, 1100));
  EXPECT_EQ(Choice(cells), cells[2].setting);
}

TEST(Choose, ACurveThatWasMeasuredAnswersForItsBatch) {
  std::vector<Cell> cells = {Measured(64, 1, 500), Measured(64, 2, 1000), Measured(64, 4, 1000),
                             At(64, 16, 2000)};
  EXPECT_EQ(Choice(cells), cells[1].setting);
  cells.push_back(At(128, 16, 2000));
  EXPECT_EQ(Choice(cells), cells[4].setting);
}

TEST(Choose, ALowerPrecisionMustEarnIt) {
  std::vector<Cell> cells = {At(64, 4, 1000), At(64, 4, 1040)};
  cells[0].setting.precision = "fp32";
  EXPECT_EQ(Choice(cells).precision, "fp32");
  cells[1].samples.median = 1060;
  EXPECT_EQ(Choice(cells).precision, "bf16");
  cells.push_back(At(64, 4, 1061));
  cells[2].setting.precision = "fp16";
  EXPECT_EQ(Choice(cells).precision, "bf16");
}

TEST(Choose, WhatWasMeasuredInALowerPrecisionGivesWayAsToAnyPrediction) {
  std::vector<Cell> cells = {At(64, 4, 1040), Measured(64, 4, 1000)};
  cells[0].setting.precision = "fp32";
  EXPECT_EQ(Choice(cells).precision, "bf16");
  cells[0].samples.median = 1060;
  EXPECT_EQ(Choice(cells).precision, "fp32");
}

TEST(Choose, EachGoalHasItsOwnBest) {
  std::vector<Cell> cells = {At(64, 2, 800), At(64, 16, 1000)};
  cells[0].power = core::Estimated<>{core::Interval<>::Unbounded(200)};
  cells[1].power = core::Estimated<>{core::Interval<>::Unbounded(400)};
  cells[0].together = core::Estimated<>{core::Interval<>::Unbounded(0.9)};
  cells[1].together = core::Estimated<>{core::Interval<>::Unbounded(0.5)};
  EXPECT_EQ(Choice(cells).cores, 16);
  EXPECT_EQ(Choice(cells, Goal::kEnergy).cores, 2);
  EXPECT_EQ(Choice(cells, Goal::kSharing).cores, 2);
  // An hour of the GPU costs 1: 14 cores more for a quarter more work pay while they cost little.
  EXPECT_EQ(Choice(cells, Goal::kCost, {{{"H200", 1}}, 0.001}).cores, 16);
  EXPECT_EQ(Choice(cells, Goal::kCost, {{{"H200", 1}}, 0.1}).cores, 2);
  // Without a price what is faster is cheaper, on one GPU model.
  EXPECT_EQ(Choice(cells, Goal::kCost).cores, 16);
}

TEST(Choose, KnowsNothingOfWhatIsUnknown) {
  EXPECT_FALSE(Choose({}, Goal::kThroughput, {}));
  const std::vector<Cell> cells = {At(64, 2, 800)};
  EXPECT_FALSE(Choose(cells, Goal::kEnergy, {}));
  EXPECT_FALSE(Choose(cells, Goal::kSharing, {}));
  EXPECT_FALSE(CostPerMillion(cells[0], {{{"A100", 1}}, {}}));
}

TEST(Cell, FiguresHaveTheBoundsOfTheirPartsAtTheirWorst) {
  Cell cell = At(10, 4, 100);
  cell.samples = {{100, 80, 125}, core::Source::kPredicted};
  cell.power = core::Estimated<>{{200, 160, 250}, core::Source::kObserved};
  const auto joules = JoulesPerSample(cell);
  ASSERT_TRUE(joules);
  EXPECT_DOUBLE_EQ(joules->median, 2);
  EXPECT_DOUBLE_EQ(joules->low, 160.0 / 125);
  EXPECT_DOUBLE_EQ(joules->high, 250.0 / 80);
  EXPECT_EQ(joules->source, core::Source::kPredicted);
  // (3.6 + 4 x 0.9) an hour are 0.002 a second.
  const auto cost = CostPerMillion(cell, {{{"H200", 3.6}}, 0.9});
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->median, 20);
  EXPECT_DOUBLE_EQ(cost->low, 16);
}

TEST(Goal, IsReadByNameAndAnErrorListsThem) {
  for (const Goal goal : kGoals) EXPECT_EQ(ParseGoal(NameOf(goal)).value(), goal);
  const auto wrong = ParseGoal("enrgy");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "'enrgy' is no goal; give throughput, cost, energy or sharing; did you mean 'energy'?");
}

}  // namespace
}  // namespace sharewell::advice::recommend
