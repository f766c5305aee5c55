#include "interference/carry_over.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/builders.h"

namespace sharewell::interference {
namespace {

using core::Demand;
using core::GpuModel;
using fixtures::CatalogueModel;

Demand Busy(double busy) {
  Demand demand;
  demand.known = true;
  demand.busy = busy;
  demand.sm = busy / 2;
  demand.dram = 0.2;
  demand.cpu_cores = 4;
  demand.pcie = core::GBps(2);
  demand.power = core::Watts(200);
  demand.kernel_time = core::Seconds(20e-6);
  demand.kernels = 700;
  return demand;
}

TEST(CarryOver, ToTheSameModelChangesNothing) {
  const GpuModel v100 = CatalogueModel("V100");
  const auto on = CarryOver(Busy(0.7), v100, v100);
  EXPECT_EQ(on.rate, 1);
  EXPECT_EQ(on.demand, Busy(0.7));
}

TEST(CarryOver, StretchesTheGpusPartWhichOverlapsTheHosts) {
  const GpuModel from = CatalogueModel("V100");
  const GpuModel to = CatalogueModel("P100");
  const double stretch = std::pow(15.7 / 10.6, 0.25) * std::pow(900.0 / 732, 0.75);
  EXPECT_NEAR(KernelStretch(Busy(1), from, to), stretch, 1e-12) << "SMs half filled";
  Demand filled = Busy(0.4);
  filled.sm = filled.busy;
  EXPECT_NEAR(KernelStretch(filled, from, to), 15.7 / 10.6, 1e-12) << "arithmetic alone";
  EXPECT_NEAR(CarryOver(Busy(1), from, to).rate, 1 / stretch, 1e-12) << "all of it stretches";
  EXPECT_NEAR(CarryOver(Busy(0), from, to).rate, 1, 1e-12) << "nothing of it does";
  const auto half = CarryOver(Busy(0.5), from, to);
  EXPECT_NEAR(half.rate, std::pow(15.0 / 16 + std::pow(stretch / 2, 4), -0.25), 1e-12);
  EXPECT_NEAR(half.demand.busy, 0.5 * stretch * half.rate, 1e-12) << "a slower GPU is busier";
  EXPECT_NEAR(half.demand.kernel_time->value, 20e-6 * stretch, 1e-12) << "each kernel is longer";
  EXPECT_EQ(half.demand.kernels, 700);
  EXPECT_NEAR(half.demand.cpu_cores, 4 * half.rate, 1e-12) << "and its host less";
  EXPECT_NEAR(half.demand.pcie.value, 2e9 * half.rate, 1e-3);
}

TEST(CarryOver, ThereAndBackIsWhereItBegan) {
  const GpuModel here = CatalogueModel("V100"), there = CatalogueModel("P100");
  for (double busy : {0.1, 0.5, 0.9}) {
    const auto on = CarryOver(Busy(busy), here, there);
    const auto back = CarryOver(on.demand, there, here);
    EXPECT_NEAR(on.rate * back.rate, 1, 1e-12);
    EXPECT_NEAR(back.demand.busy, busy, 1e-12);
  }
}

TEST(CarryOver, BusierJobsGainMoreFromTheBetterGpu) {
  const GpuModel from = CatalogueModel("P100");
  const GpuModel to = CatalogueModel("V100");
  double before = 0;
  for (double busy : {0.1, 0.3, 0.6, 0.9}) {
    const double gain = CarryOver(Busy(busy), from, to).rate;
    EXPECT_GT(gain, before);
    before = gain;
  }
}

TEST(CarryOver, SharesStayShares) {
  const auto on = CarryOver(Busy(1), CatalogueModel("H200"), CatalogueModel("K80"));
  EXPECT_LE(on.demand.busy, 1);
  EXPECT_LE(on.demand.sm, on.demand.busy);
  EXPECT_LE(on.demand.dram, 1);
}

// Takayama et al., tables VI (utilisation on the V100) and IX (training times): what it measured
// against what CarryOver says from the utilisation alone.
TEST(CarryOver, AgreesWithTheTrainingTimesOfTakayama) {
  struct Row {
    const char* name;
    double busy, p100, v100;  // seconds
  };
  constexpr auto at = [](int h, int m, int s) { return h * 3600.0 + m * 60 + s; };
  const Row rows[] = {
      {"IC", .954, at(4, 33, 4), at(3, 1, 13)},   {"SSD", .598, at(3, 12, 18), at(3, 9, 12)},
      {"OD", .745, at(2, 57, 51), at(2, 23, 26)}, {"RM", .443, at(1, 9, 7), at(1, 9, 34)},
      {"SA", .82, at(1, 48, 14), at(1, 22, 50)},  {"RT", .955, at(4, 5, 28), at(2, 48, 18)},
      {"TL", .839, at(4, 29, 21), at(2, 59, 55)}, {"SR", .651, at(15, 7, 34), at(10, 53, 32)},
      {"RI", .627, at(6, 8, 37), at(5, 46, 0)},
  };
  const GpuModel v100 = CatalogueModel("V100-16GB");
  const GpuModel p100 = CatalogueModel("P100");
  double error = 0, amdahl = 0;
  for (const Row& row : rows) {
    const double measured = row.v100 / row.p100;
    Demand demand = Busy(row.busy);
    demand.sm = row.busy;  // not told: as busy
    error += std::abs(CarryOver(demand, v100, p100).rate - measured) / std::size(rows);
    const double stretch = std::sqrt((900.0 / 732) * (15.7 / 10.6));
    amdahl += std::abs(1 / (row.busy * stretch + 1 - row.busy) - measured) / std::size(rows);
  }
  EXPECT_NEAR(amdahl, 0.088, 0.001) << "what it replaced";
  EXPECT_LT(error, 0.058);
}

// data/h200/sms.csv: an H200 with some of its SMs is a GPU of so much less arithmetic and the same
// memory. Busy and SM activity at all SMs, and the speed kept at 25, 50 and 75 % of them.
TEST(CarryOver, AgreesWithAnH200OfFewerSms) {
  struct Row {
    double busy, sm, steps, quarter, half, most;
  };
  const Row rows[] = {{0.8166, 0.60314, 26.8695, 14.2339, 22.6654, 26.717},    // ResNet-50
                      {0.9606, 0.88605, 31.5764, 8.1406, 17.8556, 25.165},     // VGG16
                      {0.8587, 0.56117, 29.1793, 15.1924, 22.3787, 26.1533}};  // MobileNet v2
  const GpuModel whole = CatalogueModel("H200");
  double error = 0, amdahl = 0;
  for (const Row& row : rows) {
    Demand demand = Busy(row.busy);
    demand.sm = row.sm;
    for (const auto& [share, steps] :
         {std::pair(0.25, row.quarter), std::pair(0.5, row.half), std::pair(0.75, row.most)}) {
      GpuModel part = whole;
      part.fp32_tflops *= share;
      part.fp16_tflops = *whole.fp16_tflops * share;
      error += std::abs(CarryOver(demand, whole, part).rate - steps / row.steps) / 9;
      amdahl +=
          std::abs(1 / (row.busy * std::sqrt(1 / share) + 1 - row.busy) - steps / row.steps) / 9;
    }
  }
  EXPECT_NEAR(amdahl, 0.083, 0.002) << "what it replaced";
  EXPECT_LT(error, 0.05);
}

TEST(DemandOf, TakesWhatTheProfileTellsAndAssumesAFullGpuOtherwise) {
  core::Profile profile;
  EXPECT_FALSE(DemandOf(profile).known);
  EXPECT_EQ(DemandOf(profile).busy, 1);
  EXPECT_EQ(DemandOf(profile).sm, 1);
  profile.busy = 0.4;
  profile.pcie = core::GBps(3);
  const Demand demand = DemandOf(profile);
  EXPECT_TRUE(demand.known);
  EXPECT_EQ(demand.sm, 0.4) << "not told: as busy";
  EXPECT_EQ(demand.host_bandwidth, core::GBps(6)) << "written once, read once";
  profile.host_bandwidth = core::GBps(5);
  EXPECT_EQ(DemandOf(profile).host_bandwidth, core::GBps(5));
}

TEST(DemandOf, TellsTheMeanKernelByTheKernelsOfAStep) {
  core::Profile profile;
  profile.busy = 0.4;
  profile.steps_per_second = 10;
  EXPECT_FALSE(DemandOf(profile).kernel_time) << "unknown is not 0";
  profile.kernels = 1000;
  EXPECT_NEAR(DemandOf(profile).kernel_time->value, 40e-6, 1e-15);
  EXPECT_EQ(DemandOf(profile).kernels, 1000);
  profile.kernel_time = core::Seconds(30e-6);
  EXPECT_EQ(DemandOf(profile).kernel_time, core::Seconds(30e-6)) << "measured";
  profile.kernel_time.reset();
  profile.busy = 0;
  EXPECT_FALSE(DemandOf(profile).kernel_time);
}

}  // namespace
}  // namespace sharewell::interference
