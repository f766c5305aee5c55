// What interference.h claims of three jobs on a GPU, against the triples that were measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "interference/carry_over.h"
#include "interference/interference.h"

namespace sharewell::study {
namespace {

using Three = std::array<core::Workload, 3>;

// Speeds of the three, each the mean of its passes, capped at 1.
std::map<Three, std::array<double, 3>> MeasuredTriples() {
  std::map<Three, std::vector<std::array<double, 3>>> passes;
  for (const auto& group : catalogue::BuiltinGroups()) {
    if (group.workloads.size() != 3) continue;
    Three who;
    std::array<double, 3> speed{};
    for (std::size_t k = 0; k < 3; ++k) {
      who[k] = group.workloads[k];
      speed[k] = group.steps_per_second[k] / group.alone[k];
    }
    passes[who].push_back(speed);
  }
  std::map<Three, std::array<double, 3>> out;
  for (const auto& [who, speeds] : passes) {
    for (std::size_t k = 0; k < 3; ++k) {
      double sum = 0;
      for (const auto& speed : speeds) sum += std::min(1.0, speed[k]);
      out[who][k] = sum / static_cast<double>(speeds.size());
    }
  }
  return out;
}

TEST(Triples, TheModelErrsAsItsHeaderSays) {
  std::map<core::Workload, core::Demand> demands;
  for (const auto& profile : catalogue::BuiltinMeasurements().profiles) {
    demands.emplace(profile.workload, interference::DemandOf(profile));
  }
  const interference::Interference model;
  double error = 0, bias = 0, squares = 0, plain = 0;
  int count = 0;
  for (const auto& [who, measured] : MeasuredTriples()) {
    std::array<interference::Resident, 3> residents;
    double busy = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      ASSERT_TRUE(demands.contains(who[k])) << who[k].name;
      residents[k] = {core::WorkloadId(), &demands.at(who[k]), 1};
      busy += demands.at(who[k]).busy;
    }
    for (std::size_t k = 0; k < 3; ++k) {
      const double speed = model.Speed(core::GpuModelId(0), residents, k);
      error += std::abs(speed - measured[k]);
      bias += speed - measured[k];
      squares += std::pow(std::log(measured[k] / speed), 2);
      plain += std::abs(std::min(1.0, 1 / busy) - measured[k]);
      ++count;
    }
  }
  ASSERT_EQ(count, 78) << "26 triples";
  EXPECT_NEAR(error / count, 0.097, 0.002);
  EXPECT_NEAR(bias / count, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / count), model.coefficients().residual_of_three, 0.01);
  EXPECT_NEAR(plain / count, 0.136, 0.002) << "min(1, 1 / sum of busy), which it must beat";
}

}  // namespace
}  // namespace sharewell::study
