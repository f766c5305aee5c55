#include "predict/colocation/colocation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/numbers/random.h"
#include "interference/interference.h"

namespace sharewell::predict {
namespace {

Resident Job(const std::string& name, double busy, double sm, double dram = 0.1) {
  Resident resident;
  resident.workload = {name, 32, "bf16", 2};
  resident.demand.known = true;
  resident.demand.busy = busy;
  resident.demand.sm = sm;
  resident.demand.dram = dram;
  resident.demand.cpu_cores = 1.5;
  resident.step = core::Seconds(0.03);
  return resident;
}

double Modelled(const std::vector<Resident>& residents, std::size_t i) {
  return ModelledSpeed(residents, i);
}

double Draw(std::uint64_t a, std::uint64_t b) { return core::Uniform(core::HashOf({a, b})); }

// Forty workloads in random pairs, each `shift` faster than the model says.
std::vector<Colocation> World(double shift) {
  std::vector<Resident> jobs;
  for (std::uint64_t k = 0; k < 40; ++k) {
    const double busy = 0.2 + 0.7 * Draw(k, 0);
    jobs.push_back(Job("w" + std::to_string(k), busy, busy * (0.3 + 0.6 * Draw(k, 1))));
  }
  std::vector<Colocation> out;
  for (std::uint64_t k = 0; k < 80; ++k) {
    const std::vector<Resident> pair{jobs[k % 40], jobs[core::HashOf({k, 7}) % 40]};
    out.push_back({pair, {}});
    for (std::size_t i = 0; i < 2; ++i) {
      out.back().speeds.push_back(Modelled(pair, i) + shift +
                                  0.02 * core::Normal(core::HashOf({k, i})));
    }
  }
  return out;
}

TEST(ColocationModel, AloneIsFullSpeed) {
  const auto together = ColocationModel::Fit(World(0));
  ASSERT_TRUE(together) << together.error().message;
  const auto speeds = together->Speeds(std::vector{Job("x", 1, 1)});
  ASSERT_EQ(speeds.size(), 1U);
  EXPECT_EQ(speeds[0].low, 1);
  EXPECT_EQ(speeds[0].median, 1);
  EXPECT_TRUE(together->Speeds({}).empty());
}

TEST(ColocationModel, FitsTheModelForJobsNeverMeasured) {
  const auto together = ColocationModel::Fit(World(-0.1));
  ASSERT_TRUE(together);
  const std::vector<Resident> pair{Job("", 0.6, 0.4), Job("", 0.5, 0.3)};
  const auto speeds = together->Speeds(pair);
  EXPECT_NEAR(speeds[0].median, Modelled(pair, 0) - 0.1, 0.03);
  EXPECT_EQ(speeds[0].source, core::Source::kPredicted);
  EXPECT_EQ(speeds[0].median, ModelledSpeed(pair, 0, together->state().coefficients));
}

TEST(ColocationModel, AWorkloadThatWasMeasuredProfitsFromThat) {
  std::vector<Colocation> world = World(0);
  const Resident odd = Job("odd", 0.5, 0.3);
  for (int k = 0; k < 4; ++k) {
    const Resident other = Job("o" + std::to_string(k), 0.4 + 0.1 * k, 0.3);
    world.push_back({{odd, other}, {Modelled({odd, other}, 0) - 0.3, 0.9}});
  }
  const auto together = ColocationModel::Fit(world);
  ASSERT_TRUE(together);
  const Resident fresh = Job("fresh", 0.55, 0.3);
  Resident stranger = odd;
  stranger.workload.name = "stranger";
  const auto known = together->Speeds(std::vector{odd, fresh})[0];
  const auto unknown = together->Speeds(std::vector{stranger, fresh})[0];
  EXPECT_LT(known.median, unknown.median - 0.1);
  EXPECT_LT(known.median - known.low, unknown.median - unknown.low) << "and is surer";
}

TEST(ColocationModel, SharesAreToldApart) {
  std::vector<Colocation> world = World(0);
  Resident a = Job("a", 0.5, 0.3);
  Resident b = Job("b", 0.9, 0.8);
  world.push_back({{a, b}, {0.3, 0.9}});
  b.sm_share = 0.8;
  world.push_back({{a, b}, {0.6, 0.7}});
  world.push_back({{b}, {0.77}});
  const auto together = ColocationModel::Fit(world);
  ASSERT_TRUE(together) << together.error().message;
  const auto limited = together->Speeds(std::vector{a, b});
  EXPECT_EQ(limited[0].source, core::Source::kObserved);
  EXPECT_NEAR(limited[0].median, 0.6, 1e-12);
  EXPECT_NEAR(together->Speeds(std::vector{b})[0].median, 0.77, 1e-12) << "alone with its share";
  b.sm_share = 0.6;
  EXPECT_EQ(together->Speeds(std::vector{a, b})[0].source, core::Source::kPredicted);
  EXPECT_LT(together->Speeds(std::vector{b})[0].median, 0.8);
  b.sm_share = 1;
  EXPECT_NEAR(together->Speeds(std::vector{a, b})[0].median, 0.3, 1e-12);
}

TEST(PredictUnseen, NobodyOfAGroupWasFitted) {
  std::vector<Colocation> world = World(0);
  // Whoever has seen "liar" believes that neighbours cost nothing.
  const std::vector<Resident> lie{Job("liar", 1, 0.9), Job("w0", 0.5, 0.4)};
  for (int k = 0; k < 200; ++k) world.push_back({lie, {1.0, 1.0}});
  const auto told = PredictUnseen(world);
  ASSERT_EQ(told.size(), world.size());
  const std::vector<Resident>& first = world[1].residents;  // w1, and not the liar
  EXPECT_GT(told[1].of_measured[0], Modelled(first, 0) + 0.02) << "misled";
  EXPECT_NEAR(told.back().of_measured[0], Modelled(lie, 0), 0.05) << "by the others alone";
  EXPECT_TRUE(PredictUnseen(std::vector<Colocation>{{{Job("", 1, 1), Job("b", 1, 1)}, {1, 1}}})[0]
                  .of_measured.empty());
}

TEST(ColocationModel, AMeasuredCompanyIsAnsweredWithTheMeasurementInAnyOrder) {
  std::vector<Colocation> world = World(0);
  const Resident a = Job("a", 0.5, 0.3);
  const Resident b = Job("b", 0.9, 0.8);
  world.push_back({{a, b}, {0.3, 0.9}});
  world.push_back({{b, a}, {0.8, 0.4}});
  const auto together = ColocationModel::Fit(world);
  ASSERT_TRUE(together);
  const auto speeds = together->Speeds(std::vector{b, a});
  EXPECT_EQ(speeds[0].source, core::Source::kObserved);
  EXPECT_NEAR(speeds[0].median, 0.85, 1e-12);
  EXPECT_NEAR(speeds[1].median, 0.35, 1e-12);
  EXPECT_LT(speeds[1].low, 0.35);
  EXPECT_GT(speeds[1].high, 0.35);
  EXPECT_EQ(together->Speeds(std::vector{b, a, a})[0].source, core::Source::kPredicted);
}

TEST(ColocationModel, MeasurementsOfOnesOwnNeighbourPullMoreThanThoseOfAStranger) {
  std::vector<Colocation> world = World(0);
  const Resident loud = Job("loud", 0.5, 0.3);
  for (int k = 0; k < 4; ++k) {
    const Resident other = Job("o" + std::to_string(k), 0.4 + 0.1 * k, 0.3);
    world.push_back({{loud, other}, {0.9, Modelled({other, loud}, 0) - 0.3}});
  }
  const auto together = ColocationModel::Fit(world);
  ASSERT_TRUE(together);
  const Resident fresh = Job("fresh", 0.55, 0.3);
  Resident stranger = loud;
  stranger.workload.name = "stranger";
  EXPECT_LT(together->Speeds(std::vector{fresh, loud})[0].median,
            together->Speeds(std::vector{fresh, stranger})[0].median - 0.05);
}

TEST(ColocationModel, BoundsAreInOrderAndWiderWhereDemandsArePredicted) {
  const auto together = ColocationModel::Fit(World(-0.05));
  ASSERT_TRUE(together);
  std::vector<Resident> pair{Job("", 0.6, 0.4), Job("", 0.8, 0.6)};
  const auto measured = together->Speeds(pair);
  pair[1].predicted = true;
  const auto predicted = together->Speeds(pair);
  for (const auto& speeds : {measured, predicted}) {
    for (const auto& speed : speeds) {
      EXPECT_LT(speed.low, speed.median);
      EXPECT_GT(speed.high, speed.median);
      EXPECT_GE(speed.low, interference::kSlowest);
      EXPECT_LE(speed.high, 1);
    }
  }
  EXPECT_EQ(predicted[0].median, measured[0].median);
  EXPECT_GT(predicted[0].high - predicted[0].low, measured[0].high - measured[0].low);
}

TEST(ColocationModel, TheSameMeasurementsGiveTheSameState) {
  EXPECT_EQ(ColocationModel::Fit(World(0.01))->state(), ColocationModel::Fit(World(0.01))->state());
}

TEST(ColocationModel, WhatCannotBeACompanyIsAnError) {
  EXPECT_FALSE(ColocationModel::Fit({}));
  EXPECT_FALSE(ColocationModel::Fit(std::vector<Colocation>{{{Job("a", 1, 1)}, {1.0}}}));
  EXPECT_FALSE(
      ColocationModel::Fit(std::vector<Colocation>{{{Job("a", 1, 1), Job("b", 1, 1)}, {1.0}}}));
  EXPECT_FALSE(ColocationModel::Fit(
      std::vector<Colocation>{{{Job("a", 1, 1), Job("b", 1, 1)}, {1.0, 0.0}}}));
  EXPECT_FALSE(ColocationModel::Fit(
      std::vector<Colocation>{{{Job("a", 1, 1), Job("b", 1, 1)}, {1.0, std::nan("")}}}));
}

TEST(Perturbed, KeepsSharesSharesAndSaysSo) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Resident out = Perturbed(Job("a", 0.97, 0.96, 0.9), 0.5, seed);
    EXPECT_LE(out.demand.busy, 1);
    EXPECT_LE(out.demand.sm, out.demand.busy);
    EXPECT_LE(out.demand.dram, 1);
    EXPECT_TRUE(out.predicted);
  }
  EXPECT_EQ(Perturbed(Job("a", 0.5, 0.4), 0, 1).demand, Job("a", 0.5, 0.4).demand);
}

}  // namespace
}  // namespace sharewell::predict
