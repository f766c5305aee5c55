#include "interference/interference.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/random_case.h"

namespace sharewell::interference {
namespace {

using core::Demand;
using core::GpuModelId;
using core::Ratio;
using core::WorkloadId;

const GpuModelId kModel(0);

Demand Of(Ratio busy, Ratio sm, Ratio dram) {
  Demand demand;
  demand.known = true;
  demand.busy = busy;
  demand.sm = sm;
  demand.dram = dram;
  return demand;
}

Demand RandomDemand(fixtures::Dice& dice) {
  return Of(dice.Uniform(0, 1), dice.Uniform(0, 1), dice.Uniform(0, 1));
}

std::vector<Resident> Residents(const std::vector<Demand>& demands) {
  std::vector<Resident> residents;
  for (const Demand& demand : demands) residents.push_back({WorkloadId(), &demand, 1});
  return residents;
}

TEST(Interference, AloneIsFullSpeed) {
  const std::vector<Demand> one{Of(1, 1, 1)};
  EXPECT_EQ(Interference().Speed(kModel, Residents(one), 0), 1);
}

TEST(Interference, IsTheModelOfTheHeader) {
  const std::vector<Demand> three{Of(0.5, 0.1, 0.1), Of(1, 0.3, 0.2), Of(1, 0.4, 0.1)};
  const Coefficients c;
  const double sm = 1 - (1 - 0.3) * (1 - 0.4);
  const double slowdown =
      1 + c.neighbour * 2 + 0.5 * (c.sm * sm * sm * sm * sm + c.dram * (0.2 + 0.1));
  EXPECT_NEAR(Interference().Speed(kModel, Residents(three), 0), 1 / slowdown, 1e-12);
}

TEST(Interference, NeighboursSmsCountUpToAFullGpu) {
  const std::vector<Demand> full{Of(1, 1, 0), Of(1, 1, 0), Of(1, 0, 0)};
  const std::vector<Demand> over{Of(1, 1, 0), Of(1, 1, 0), Of(1, 1, 0)};
  EXPECT_EQ(Interference().Speed(kModel, Residents(full), 0),
            Interference().Speed(kModel, Residents(over), 0));
}

TEST(Interference, StaysBetweenTheSlowestAndOne) {
  fixtures::Dice dice(3);
  for (int i = 0; i < 500; ++i) {
    std::vector<Demand> demands;
    for (int n = dice.Between(1, 8); n > 0; --n) demands.push_back(RandomDemand(dice));
    auto residents = Residents(demands);
    for (auto& resident : residents) resident.contention = dice.Uniform(0, 20);
    for (std::size_t k = 0; k < residents.size(); ++k) {
      const Ratio speed = Interference().Speed(kModel, residents, k);
      ASSERT_LE(speed, 1);
      ASSERT_GE(speed, kSlowest);
    }
  }
}

TEST(Interference, OneMoreNeighbourNeverHelps) {
  fixtures::Dice dice(4);
  for (int i = 0; i < 500; ++i) {
    std::vector<Demand> demands{RandomDemand(dice)};
    double before = 1;
    for (int n = 0; n < 5; ++n) {
      demands.push_back(RandomDemand(dice));
      const double now = Interference().Speed(kModel, Residents(demands), 0);
      ASSERT_LE(now, before);
      before = now;
    }
  }
}

TEST(Interference, AHungrierNeighbourNeverHelps) {
  fixtures::Dice dice(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<Demand> demands{RandomDemand(dice), RandomDemand(dice)};
    const double before = Interference().Speed(kModel, Residents(demands), 0);
    demands[1].sm = dice.Uniform(demands[1].sm, 1);
    demands[1].dram = dice.Uniform(demands[1].dram, 1);
    ASSERT_LE(Interference().Speed(kModel, Residents(demands), 0), before);
  }
}

TEST(Interference, ContentionScalesTheSlowdownBeyondOne) {
  const std::vector<Demand> two{Of(1, 1, 0.2), Of(1, 1, 0.2)};
  auto residents = Residents(two);
  const double slowdown = 1 / Interference().Speed(kModel, residents, 0);
  residents[0].contention = 2;
  EXPECT_NEAR(1 / Interference().Speed(kModel, residents, 0), 1 + 2 * (slowdown - 1), 1e-9);
  residents[0].contention = 0;
  EXPECT_EQ(Interference().Speed(kModel, residents, 0), 1);
}

class WithAMeasuredPair : public ::testing::Test {
 protected:
  WithAMeasuredPair() {
    PairTable pairs(1, 3);
    pairs.Add(kModel, WorkloadId(0), WorkloadId(1), 0.75, 0.5);
    pairs.AddUnfit(kModel, WorkloadId(1), WorkloadId(2));
    model_ = Interference(std::move(pairs));
  }
  Resident Job(std::size_t workload) { return {WorkloadId(workload), &demand_, 1}; }

  Demand demand_ = Of(1, 1, 1);
  Interference model_;
};

TEST_F(WithAMeasuredPair, TheMeasurementOverridesTheModel) {
  const std::vector<Resident> pair{Job(0), Job(1)};
  EXPECT_TRUE(model_.Measured(kModel, pair));
  EXPECT_NEAR(model_.Speed(kModel, pair, 0), 0.75, 1e-12);
  EXPECT_NEAR(model_.Speed(kModel, pair, 1), 0.5, 1e-12);
}

TEST_F(WithAMeasuredPair, AThirdJobMakesItAnExtrapolation) {
  const std::vector<Resident> three{Job(0), Job(1), Job(0)};
  EXPECT_FALSE(model_.Measured(kModel, three));
  EXPECT_LT(model_.Speed(kModel, three, 0), 0.75);
}

TEST_F(WithAMeasuredPair, OtherPairsAndOtherGpusAreModelled) {
  const std::vector<Resident> same{Job(0), Job(0)};
  const std::vector<Resident> pair{Job(0), Job(1)};
  EXPECT_FALSE(model_.Measured(kModel, same));
  EXPECT_FALSE(model_.Measured(GpuModelId(1), pair));
  EXPECT_EQ(model_.Speed(GpuModelId(1), pair, 0), model_.Speed(kModel, same, 0));
}

TEST_F(WithAMeasuredPair, TwoThatRanOutOfMemoryDoNotFitInAnyCompany) {
  EXPECT_TRUE(model_.Fits(kModel, std::vector<Resident>{Job(0), Job(1)}));
  EXPECT_FALSE(model_.Fits(kModel, std::vector<Resident>{Job(1), Job(2)}));
  EXPECT_FALSE(model_.Fits(kModel, std::vector<Resident>{Job(2), Job(0), Job(1)}));
}

TEST_F(WithAMeasuredPair, KnowsWhatIsMeasuredOrDemanded) {
  EXPECT_TRUE(model_.Knows(kModel, std::vector<Resident>{Job(0), Job(2)}));
  demand_.known = false;
  EXPECT_FALSE(model_.Knows(kModel, std::vector<Resident>{Job(0), Job(2)}));
  EXPECT_TRUE(model_.Knows(kModel, std::vector<Resident>{Job(0), Job(1)})) << "measured together";
  EXPECT_TRUE(model_.Knows(kModel, std::vector<Resident>{Job(0)})) << "alone nothing is to know";
}

}  // namespace
}  // namespace sharewell::interference
