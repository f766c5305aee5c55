#include "estimate/seen_needs.h"

#include <gtest/gtest.h>

namespace sharewell::estimate {
namespace {

using core::GiB;
using core::Source;

TEST(SeenNeeds, WhatWasSeenStandsBeforeWhatWasBelieved) {
  core::Needs believed;
  believed.sources = core::Sources::All(Source::kPredicted);
  believed.from = "net.onnx";
  believed.profile.workload.name = "net";
  believed.profile.gpu = "H200";
  believed.profile.busy = 0.9;
  believed.profile.steps_per_second = 5;
  believed.profile.gpu_memory = GiB(40);
  believed.gpu_memory_upper = GiB(45);
  core::Profile seen;
  seen.gpu = "H200";
  seen.cpu_cores = 2;
  core::Needs needs = SeenNeeds(believed, seen, 8, 1);
  EXPECT_EQ(needs.sources.busy, Source::kPredicted) << "nothing of the GPU was seen";
  EXPECT_EQ(needs.profile.busy, 0.9);
  EXPECT_EQ(needs.profile.cpu_cores, 2);
  EXPECT_EQ(needs.sources.cores, Source::kObserved);
  seen.busy = 0.3;
  seen.gpu_memory = GiB(10);
  needs = SeenNeeds(believed, seen, 8, 1);
  EXPECT_EQ(needs.sources.busy, Source::kObserved);
  EXPECT_EQ(needs.sources.gpu_memory, Source::kObserved);
  EXPECT_EQ(needs.sources.host_memory, Source::kPredicted) << "was not seen";
  EXPECT_EQ(needs.profile.workload.name, "net");
  EXPECT_EQ(needs.profile.busy, 0.3);
  EXPECT_EQ(needs.profile.steps_per_second, 5) << "was not seen";
  EXPECT_FALSE(needs.gpu_memory_upper) << "was of another figure";
  seen.gpu = "A100";
  EXPECT_FALSE(SeenNeeds(believed, seen, 8, 1).profile.steps_per_second) << "of another GPU";
}

TEST(SeenNeeds, KernelsStayAndTheirTimeFollowsFromWhatWasSeen) {
  core::Needs believed;
  believed.profile.gpu = "H200";
  believed.profile.kernels = 500;
  believed.profile.kernel_time = core::Seconds(2e-5);
  core::Profile seen;
  seen.gpu = "H200";
  seen.busy = 0.5;
  EXPECT_EQ(SeenNeeds(believed, seen, 8, 1).profile.kernel_time, core::Seconds(2e-5));
  seen.steps_per_second = 20;
  const core::Needs needs = SeenNeeds(believed, seen, 8, 1);
  EXPECT_EQ(needs.profile.kernels, 500);
  EXPECT_FALSE(needs.profile.kernel_time) << "busy, rate and kernels tell it";
  believed.profile.kernels.reset();
  EXPECT_EQ(SeenNeeds(believed, seen, 8, 1).profile.kernel_time, core::Seconds(2e-5));
  seen.gpu = "A100";
  EXPECT_FALSE(SeenNeeds(believed, seen, 8, 1).profile.kernel_time) << "of another GPU";
}

TEST(SeenNeeds, AStarvedJobNeedsMoreThanItUsed) {
  EXPECT_EQ(CoresNeeded(2, 8, 1), 2);
  EXPECT_EQ(CoresNeeded(7.8, 8, 1), 12);
  EXPECT_EQ(CoresNeeded(3.9, 8, 2), 6) << "a GPU";
  EXPECT_EQ(CoresNeeded(3, 0, 1), 3) << "was not bounded";
}

TEST(SmAlone, IsKnownOfAJobThatWasMeasuredAndTrains) {
  core::Needs believed;
  believed.sources = core::Sources::All(core::Source::kObserved);
  believed.profile.gpu = "H200";
  believed.profile.sm = 0.4;
  believed.profile.gpu_memory = core::Bytes(100);
  EXPECT_EQ(SmAlone(believed, "H200", core::Bytes(80)), 0.4);
  EXPECT_FALSE(SmAlone(believed, "H200", core::Bytes(79))) << "it loads";
  EXPECT_FALSE(SmAlone(believed, "H200", {}));
  EXPECT_FALSE(SmAlone(believed, "A100", core::Bytes(80)));
  believed.sources.sm = core::Source::kPredicted;
  EXPECT_FALSE(SmAlone(believed, "H200", core::Bytes(80))) << "whatever else of it was seen";
}

TEST(SeenNeeds, ARunWithFewerSmsTellsWhatItHoldsAndNotHowFastItIs) {
  core::Profile seen;
  seen.steps_per_second = 8;
  seen.busy = seen.sm = seen.dram = 0.5;
  seen.kernel_time = core::Seconds(1e-5);
  seen.power = core::Watts(300);
  seen.gpu_memory = core::GiB(3);
  seen.cpu_cores = 2;
  core::Profile expected;
  expected.gpu_memory = core::GiB(3);
  expected.cpu_cores = 2;
  EXPECT_EQ(WithoutPace(seen), expected);
}

}  // namespace
}  // namespace sharewell::estimate
