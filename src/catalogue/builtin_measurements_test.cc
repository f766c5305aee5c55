#include "catalogue/builtin_measurements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/gpu_catalogue.h"

namespace sharewell::catalogue {
namespace {

bool Has(const std::vector<core::Profile>& profiles, const core::Workload& workload) {
  return std::any_of(profiles.begin(), profiles.end(),
                     [&](const auto& profile) { return profile.workload == workload; });
}

TEST(BuiltinMeasurements, AreTheH200OnesAndFitTogether) {
  const auto measurements = BuiltinMeasurements();
  EXPECT_EQ(measurements.profiles.size(), 203U)
      << "74, and of 142 later ones not the 11 repeats and 2 that differ in the optimizer only";
  EXPECT_EQ(measurements.pairs.size(), 57U + 50U) << "those under MPS; 45 new, 5 of them twice";
  EXPECT_EQ(measurements.stand_ins, 74U);
  const auto catalogue = GpuCatalogue::Builtin();
  std::set<core::Workload> workloads;
  for (const auto& profile : measurements.profiles) {
    EXPECT_TRUE(profile.busy && profile.sm && profile.dram && profile.steps_per_second &&
                profile.cpu_cores);
    EXPECT_EQ(catalogue.Find(profile.gpu)->name, "H200");
    EXPECT_TRUE(workloads.insert(profile.workload).second) << profile.workload.name;
  }
  for (const auto& pair : measurements.pairs) {
    for (const auto& workload : {pair.a, pair.b}) {
      EXPECT_TRUE(workloads.contains(workload)) << workload.name << " was not measured alone";
    }
  }
}

TEST(BuiltinMeasurements, BeginWithTheFirstSitting) {
  const auto first = FirstSitting();
  const auto all = BuiltinMeasurements();
  ASSERT_EQ(first.profiles.size(), 74U);
  ASSERT_EQ(first.pairs.size(), 57U);
  EXPECT_TRUE(std::equal(first.profiles.begin(), first.profiles.end(), all.profiles.begin()));
  EXPECT_TRUE(std::equal(first.pairs.begin(), first.pairs.end(), all.pairs.begin()));
}

TEST(BuiltinGroups, HaveEveryMeasurementAndAProfileOfEachWorkload) {
  const auto profiles = BuiltinMeasurements().profiles;
  const auto groups = BuiltinGroups();
  EXPECT_EQ(groups.size(), 57U + 54U + 52U);
  for (const auto& group : groups) {
    ASSERT_EQ(group.workloads.size(), group.steps_per_second.size());
    ASSERT_EQ(group.workloads.size(), group.alone.size());
    for (const auto& workload : group.workloads) EXPECT_TRUE(Has(profiles, workload));
  }
}

}  // namespace
}  // namespace sharewell::catalogue
