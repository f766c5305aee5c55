#include "estimate/needs_estimate.h"

#include <gtest/gtest.h>

namespace sharewell::estimate {
namespace {

core::GpuModel Model(const std::string& name, double gibibytes) {
  core::GpuModel model;
  model.name = name;
  model.memory = core::GiB(gibibytes);
  model.bandwidth = core::GBps(1000);
  model.fp32_tflops = 10;
  model.sms = 80;
  return model;
}

core::Cluster OneNode() {
  core::Node node;
  node.name = "a";
  node.gpus = 4;
  node.model = core::GpuModelId(0);
  node.cores = 32;
  return core::Cluster({Model("big", 80)}, {node});
}

const core::GpuModel* NoModel(const std::string&) { return nullptr; }

core::Needs Predicted() {
  core::Needs needs;
  needs.sources = core::Sources::All(core::Source::kPredicted);
  needs.profile.gpu = "big";
  needs.profile.busy = 0.4;
  needs.profile.gpu_memory = core::GiB(10);
  needs.profile.cpu_cores = 3;
  return needs;
}

TEST(EstimateFor, AJobOfWhichNothingIsKnownFillsItsGpuAndGetsItsPartOfTheHost) {
  const core::Estimate estimate = EstimateFor({}, {}, OneNode(), NoModel);
  ASSERT_EQ(estimate.on.size(), 1U);
  EXPECT_FALSE(estimate.on[0].demand.known);
  EXPECT_EQ(estimate.on[0].demand.busy, 1);
  EXPECT_EQ(estimate.gpu_memory_upper, core::GiB(80));
  EXPECT_EQ(estimate.on[0].demand.cpu_cores, 8);
  EXPECT_EQ(estimate.sources.busy, core::Source::kAssumed);
}

TEST(EstimateFor, NothingGoesBeyondTheUsersOwnBounds) {
  core::Submission asked;
  asked.cores = 2;
  asked.gpu_memory = core::GiB(8);
  const core::Estimate estimate = EstimateFor(Predicted(), asked, OneNode(), NoModel);
  EXPECT_EQ(estimate.gpu_memory_upper, core::GiB(8));
  EXPECT_EQ(estimate.on[0].demand.cpu_cores, 2);
  EXPECT_EQ(estimate.cores_upper, 1);
}

TEST(EstimateFor, AsksWhatAGpuIsThatTheClusterDoesNotHave) {
  core::GpuModel slow = Model("small", 16);
  slow.fp32_tflops = 5;
  slow.bandwidth = core::GBps(500);
  core::Needs needs = Predicted();
  needs.duration = core::Seconds(100);
  const auto here = EstimateFor(needs, {}, OneNode(), NoModel);
  needs.profile.gpu = "SMALL";
  std::string asked;
  const auto carried = EstimateFor(needs, {}, OneNode(), [&](const std::string& name) {
    asked = name;
    return &slow;
  });
  EXPECT_EQ(asked, "SMALL");
  EXPECT_LT(carried.on[0].demand.busy, here.on[0].demand.busy);
}

TEST(AsBrought, BelievesNoClientThatItMeasuredAndDropsWhatCanBeNone) {
  core::Needs needs = Predicted();
  needs.sources = core::Sources::All(core::Source::kObserved);
  needs.profile.busy = 7;
  needs.profile.cpu_curve = {{4, 0.5}, {2, 1}};
  const core::Needs brought = AsBrought(needs);
  EXPECT_EQ(brought.sources, core::Sources::All(core::Source::kTold));
  EXPECT_FALSE(brought.profile.busy);
  EXPECT_TRUE(brought.profile.cpu_curve.empty());
  EXPECT_EQ(brought.profile.gpu_memory, core::GiB(10));
}

TEST(FillFrom, TakesRatesOfTheSameGpuModelOnly) {
  core::Needs rest = Predicted();
  rest.profile.steps_per_second = 5;
  rest.profile.host_memory = core::GiB(2);
  core::Needs needs;
  needs.profile.gpu = "other";
  FillFrom(needs, rest);
  EXPECT_FALSE(needs.profile.steps_per_second);
  EXPECT_EQ(needs.profile.gpu_memory, core::GiB(10));
  EXPECT_EQ(needs.profile.host_memory, core::GiB(2));
  EXPECT_EQ(needs.sources.host_memory, core::Source::kPredicted);
  EXPECT_EQ(needs.sources.busy, core::Source::kAssumed) << "that was not filled";
}

TEST(FillFrom, EachFigureKeepsItsSource) {
  core::Needs seen;
  seen.sources = core::Sources::All(core::Source::kObserved);
  seen.profile.gpu = Predicted().profile.gpu;
  seen.profile.busy = 0.5;
  seen.profile.cpu_cores = 2;
  FillFrom(seen, Predicted());
  EXPECT_EQ(seen.sources.busy, core::Source::kObserved);
  EXPECT_EQ(seen.sources.cores, core::Source::kObserved);
  EXPECT_EQ(seen.sources.gpu_memory, core::Source::kPredicted);
}

TEST(EstimateFor, WhatTheUserBoundsWasTold) {
  core::Submission asked;
  EXPECT_EQ(EstimateFor(Predicted(), asked, OneNode(), NoModel).sources.gpu_memory,
            core::Source::kPredicted);
  asked.gpu_memory = core::GiB(1);
  asked.cores = 0.5;
  const core::Sources sources = EstimateFor(Predicted(), asked, OneNode(), NoModel).sources;
  EXPECT_EQ(sources.gpu_memory, core::Source::kTold);
  EXPECT_EQ(sources.cores, core::Source::kTold);
  EXPECT_EQ(sources.busy, core::Source::kPredicted);
  EXPECT_EQ(EstimateFor({}, {}, OneNode(), NoModel).sources, core::Sources());
}

}  // namespace
}  // namespace sharewell::estimate
