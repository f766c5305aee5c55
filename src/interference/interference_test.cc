#include "interference/interference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
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
  std::vector<Demand> three{Of(0.5, 0.1, 0.1), Of(1, 0.3, 0.2), Of(1, 0.4, 0.1)};
  three[0].kernel_time = core::Seconds(10e-6);
  three[1].kernel_time = core::Seconds(40e-6);
  three[2].kernel_time = core::Seconds(5e-6);
  const Coefficients c;
  const double stretch = 1 + 2 * c.neighbour + c.dram * (0.2 + 0.1) +
                         c.wait * (std::pow(0.3, 1.5) * std::log(1 + c.length * 4) +
                                   std::pow(0.4, 1.5) * std::log(1 + c.length * 0.5));
  const double slowdown = std::pow(
      (1 - std::pow(0.5, 4)) * std::pow(1 + 2 * c.host, 4) + std::pow(0.5 * stretch, 4), 0.25);
  EXPECT_NEAR(Interference().Speed(kModel, Residents(three), 0), 1 / slowdown, 1e-12);
}

TEST(Interference, WhoseKernelsAreShortWaitsLonger) {
  std::vector<Demand> two{Of(0.8, 0.4, 0.1), Of(1, 0.9, 0.2)};
  two[0].kernel_time = two[1].kernel_time = core::Seconds(80e-6);
  const double equal = Interference().Speed(kModel, Residents(two), 0);
  two[0].kernel_time = core::Seconds(8e-6);
  EXPECT_LT(Interference().Speed(kModel, Residents(two), 0), 0.7 * equal);
  two[0].kernel_time = core::Seconds(800e-6);
  EXPECT_GT(Interference().Speed(kModel, Residents(two), 0), equal);
}

TEST(Interference, TakesWideKernelsForLongOnesWhereTheirTimeIsNotKnown) {
  std::vector<Demand> two{Of(0.8, 0.4, 0.1), Of(1, 0.9, 0.2)};
  EXPECT_NEAR(LikelyKernelTime(two[0]).value, 48e-6, 1e-12);
  EXPECT_NEAR(LikelyKernelTime(two[1]).value, 243e-6, 1e-12);
  EXPECT_NEAR(LikelyKernelTime(Of(0.2, 0.1, 0)).value, 8e-6, 1e-12);
  const double unknown = Interference().Speed(kModel, Residents(two), 0);
  two[1].kernel_time = core::Seconds(243e-6);
  EXPECT_NEAR(Interference().Speed(kModel, Residents(two), 0), unknown, 1e-12);
  two[0].kernel_time = core::Seconds(48e-6);
  EXPECT_NEAR(Interference().Speed(kModel, Residents(two), 0), unknown, 1e-12);
  two[0].kernel_time = core::Seconds(0);
  EXPECT_NEAR(Interference().Speed(kModel, Residents(two), 0), unknown, 1e-12) << "no time at all";
}

TEST(Interference, ALoopThatWaitsForItsHostFeelsLittleOfAStretchedGpu) {
  const std::vector<Demand> two{Of(0.2, 0.2, 0.1), Of(1, 0.9, 0.2)};
  EXPECT_GT(Interference().Speed(kModel, Residents(two), 0), 0.8);
  EXPECT_LT(Interference().Speed(kModel, Residents({Of(1, 0.2, 0.1), Of(1, 0.9, 0.2)}), 0), 0.6);
}

TEST(SpeedAlone, IsLessOnlyForWhoUsesManySms) {
  const Demand wide = Of(0.96, 0.89, 0.3);    // VGG16
  const Demand narrow = Of(0.27, 0.12, 0.1);  // BERT at batch 16
  EXPECT_EQ(SpeedAlone(wide, 1), 1);
  EXPECT_NEAR(SpeedAlone(wide, 0.8), 0.82, 0.06) << "data/h200/shares.csv";
  EXPECT_NEAR(SpeedAlone(wide, 0.5), 0.57, 0.06) << "data/h200/sms.csv";
  EXPECT_NEAR(SpeedAlone(narrow, 0.5), 1, 0.02);
  EXPECT_EQ(SpeedAlone(Of(0, 0, 0), 0.2), 1);
  EXPECT_GE(SpeedAlone(wide, 0), kSlowest) << "a share that nobody gives";
}

TEST(SpeedAlone, IsTheSpeedOfOneResident) {
  const Demand wide = Of(0.9, 0.8, 0.3);
  const std::vector<Resident> alone{{WorkloadId(), &wide, 5, 0.6}};
  EXPECT_EQ(Interference().Speed(kModel, alone, 0), SpeedAlone(wide, 0.6));
  EXPECT_LT(SpeedAlone(wide, 0.6), 1);
}

// data/h200/shares.csv: an LSTM beside ResNet-50 in fp32 at 100, 80 and 60 % of the SMs keeps 0.22,
// 0.51 and 0.62 of its speed; the other 0.93, 0.80 and 0.64.
TEST(Interference, ANarrowerNeighbourRescuesShortKernels) {
  Demand lstm = Of(0.91, 0.4, 0.02);
  lstm.kernel_time = core::Seconds(8e-6);
  Demand resnet = Of(0.99, 0.9, 0.2);
  resnet.kernel_time = core::Seconds(70e-6);
  const auto at = [&](Ratio share, std::size_t i) {
    const std::vector<Resident> pair{{WorkloadId(), &lstm, 1}, {WorkloadId(), &resnet, 1, share}};
    return Interference().Speed(kModel, pair, i);
  };
  EXPECT_LT(at(1, 0), 0.35);
  EXPECT_GT(at(0.8, 0), 0.5);
  EXPECT_GT(at(0.6, 0), at(0.8, 0));
  EXPECT_LT(at(0.8, 1), at(1, 1));
  EXPECT_LT(at(0.8, 1), SpeedAlone(resnet, 0.8)) << "its own share, and its neighbour";
}

TEST(Interference, ASmallerShareNeverHelpsItselfAndNeverHurtsOthers) {
  fixtures::Dice dice(6);
  for (int i = 0; i < 500; ++i) {
    std::vector<Demand> demands{RandomDemand(dice), RandomDemand(dice)};
    for (Demand& demand : demands) {
      demand.kernel_time = core::Seconds(1e-6 * std::exp(dice.Uniform(0, 6)));
    }
    auto residents = Residents(demands);
    double self = 0;
    double other = 1;
    for (const Ratio share : {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0}) {
      residents[0].sm_share = share;
      const double now = Interference().Speed(kModel, residents, 0);
      ASSERT_GE(now, self - 1e-12);
      ASSERT_LE(now, SpeedAlone(demands[0], share));
      self = now;
      const double beside = Interference().Speed(kModel, residents, 1);
      ASSERT_LE(beside, other + 1e-12) << share;
      other = beside;
    }
  }
}

TEST(Interference, StaysBetweenTheSlowestAndOne) {
  fixtures::Dice dice(3);
  for (int i = 0; i < 500; ++i) {
    std::vector<Demand> demands;
    for (int n = dice.Between(1, 8); n > 0; --n) demands.push_back(RandomDemand(dice));
    auto residents = Residents(demands);
    for (auto& resident : residents) {
      resident.contention = dice.Uniform(0, 20);
      resident.sm_share = dice.Uniform(0, 1.2);
    }
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

TEST_F(WithAMeasuredPair, OtherSharesAreModelled) {
  std::vector<Resident> pair{Job(0), Job(1)};
  pair[1].sm_share = 0.8;
  EXPECT_FALSE(model_.Measured(kModel, pair));
  EXPECT_EQ(model_.Speed(kModel, pair, 0), Interference().Speed(kModel, pair, 0));
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

TEST(Interference, WhatIsLearntOfAPairCountsBeforeTableAndModel) {
  PairTable pairs(1, 2);
  pairs.Add(kModel, WorkloadId(0), WorkloadId(1), 0.9, 0.9);
  Interference model(pairs);
  const std::vector<Demand> demands{Of(0.5, 0.5, 0), Of(0.5, 0.5, 0)};
  // Workloads beyond the table can be learnt too.
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(7, 9)}) {
    std::vector<Resident> both{{WorkloadId(static_cast<std::size_t>(a)), &demands[0], 0.5},
                               {WorkloadId(static_cast<std::size_t>(b)), &demands[1], 1}};
    model.Learn(kModel, both[0].workload, both[1].workload, 0.6, 0.7, 1, 1);
    EXPECT_DOUBLE_EQ(model.Speed(kModel, both, 0), 0.6) << "whatever its contention";
    EXPECT_DOUBLE_EQ(model.Speed(kModel, both, 1), 0.7);
    std::swap(both[0], both[1]);
    EXPECT_DOUBLE_EQ(model.Speed(kModel, both, 0), 0.7);
    EXPECT_TRUE(model.Measured(kModel, both));
    both[0].sm_share = 0.8;
    EXPECT_NE(model.Speed(kModel, both, 0), 0.7) << "with other shares nothing is known";
    EXPECT_NE(model.Speed(GpuModelId(1), both, 0), 0.7);
  }
}

}  // namespace
}  // namespace sharewell::interference
