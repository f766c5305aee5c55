#include "predict/base.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

using graph::Precision;

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16,
                                     Precision::kFp16};

// Products alone, large enough to fill the matrix units.
std::string Products() {
  return R"({"inputs":[{"name":"x","shape":["batch",4096]}],"layers":[
             {"type":"repeat","times":4,"layers":[{"type":"linear","out":4096}]}]})";
}
std::string Pointwise() {
  return R"({"inputs":[{"name":"x","shape":["batch",4096]}],"layers":[
             {"type":"repeat","times":4,"layers":[{"type":"relu"}]}]})";
}

Base Of(const std::string& list, std::int64_t batch, const core::GpuModel& gpu,
        Precision precision = Precision::kFp32, int workers = 4) {
  const graph::Graph graph = TestGraph(list, batch);
  return BaseOf(TestQuery(graph, gpu, precision, workers));
}

OpClass ClassOfLayer(const std::string& layer, int channels) {
  const std::string list = fmt::format(
      R"({{"inputs":[{{"name":"x","shape":["batch",{},16,16]}}],"layers":[{}]}})", channels, layer);
  const graph::Graph graph = TestGraph(list, 2);
  return ClassOf(graph, graph.ops.at(0));
}

TEST(OpClass, ConvolutionsAreToldApartByChannelsWindowAndGroups) {
  EXPECT_EQ(ClassOfLayer(R"({"type":"conv2d","out_channels":64,"kernel":7})", 3), OpClass::kStem);
  EXPECT_EQ(ClassOfLayer(R"({"type":"conv2d","out_channels":64,"kernel":1})", 64),
            OpClass::kPointwise);
  EXPECT_EQ(ClassOfLayer(R"({"type":"conv2d","out_channels":64,"kernel":3})", 64), OpClass::kConv);
  EXPECT_EQ(ClassOfLayer(R"({"type":"conv2d","out_channels":64,"kernel":3,"groups":64})", 64),
            OpClass::kDepthwise);
  EXPECT_EQ(ClassOfLayer(R"({"type":"conv2d","out_channels":64,"kernel":3,"groups":4})", 64),
            OpClass::kGrouped);
}

TEST(OpClass, WhatLaunchesNoKernelHasNoClass) {
  EXPECT_EQ(ClassOfLayer(R"({"type":"flatten"})", 8), OpClass::kNone);
}

TEST(Base, ALargerBatchTakesLongerOnTheGpuAndInTheLoader) {
  for (const std::string& list : {ImageList(32, 2), TokenList(64, 2), RecurrentList(256)}) {
    const Base small = Of(list, 8, TestGpu());
    const Base large = Of(list, 64, TestGpu());
    EXPECT_GT(large.gpu, small.gpu) << list;
    EXPECT_GT(large.worker, small.worker) << list;
    EXPECT_GT(large.memory.Peak(), small.memory.Peak()) << list;
    EXPECT_EQ(large.host, small.host) << "the host launches the same operators: " << list;
  }
}

TEST(Base, AWiderOrDeeperModelTakesLonger) {
  const core::GpuModel gpu = TestGpu();
  EXPECT_GT(Of(ImageList(64, 2), 16, gpu).gpu, Of(ImageList(32, 2), 16, gpu).gpu);
  EXPECT_GT(Of(ImageList(32, 4), 16, gpu).gpu, Of(ImageList(32, 2), 16, gpu).gpu);
  EXPECT_GT(Of(ImageList(32, 4), 16, gpu).host, Of(ImageList(32, 2), 16, gpu).host);
}

TEST(Base, MatrixUnitsMakeLargeProductsFaster) {
  const core::GpuModel gpu = TestGpu();
  const double fp32 = Of(Products(), 4096, gpu).gpu;
  const double tf32 = Of(Products(), 4096, gpu, Precision::kTf32).gpu;
  const double bf16 = Of(Products(), 4096, gpu, Precision::kBf16).gpu;
  EXPECT_LT(tf32, fp32 / 3);
  EXPECT_LT(bf16, tf32);
  EXPECT_DOUBLE_EQ(Of(Products(), 4096, gpu, Precision::kFp16).gpu, bf16);
}

TEST(Base, WhereAGpuHasNoMatrixUnitsTf32IsPlainFp32) {
  core::GpuModel gpu = TestGpu();
  gpu.tf32_tflops.reset();
  for (const std::string& list : {Products(), ImageList(64, 2)}) {
    EXPECT_EQ(Of(list, 64, gpu, Precision::kTf32).gpu, Of(list, 64, gpu, Precision::kFp32).gpu);
  }
}

TEST(Base, WhereAGpuHasNoHalfPrecisionUnitsProductsAreNoFasterForIt) {
  core::GpuModel gpu = TestGpu();
  gpu.tf32_tflops.reset();
  gpu.fp16_tflops.reset();
  gpu.bf16_tflops.reset();
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    EXPECT_GE(Of(Products(), 4096, gpu, precision).compute, Of(Products(), 4096, gpu).compute);
  }
}

TEST(Base, HalfTheBandwidthTakesWhatOnlyMovesBytesTwiceAsLong) {
  const core::GpuModel gpu = TestGpu();
  core::GpuModel slow = gpu;
  slow.bandwidth = slow.bandwidth * 0.5;
  const Base fast = Of(Pointwise(), 4096, gpu);
  EXPECT_EQ(fast.compute, 0);
  // All but the copy from the host, which comes as fast as before.
  const double copy = fast.cost.input_bytes / BuiltInRates().copy_bytes;
  EXPECT_NEAR((Of(Pointwise(), 4096, slow).bandwidth - copy) / (fast.bandwidth - copy), 2, 1e-12);
  for (const Precision precision : kPrecisions) {
    EXPECT_GT(Of(ImageList(32, 2), 32, slow, precision).gpu,
              Of(ImageList(32, 2), 32, gpu, precision).gpu);
  }
}

TEST(Base, GpuTimeIsTheSumOfItsParts) {
  const Base base = Of(ImageList(32, 2), 32, TestGpu(), Precision::kBf16);
  EXPECT_DOUBLE_EQ(base.gpu, base.compute + base.bandwidth + base.launch);
  EXPECT_GT(base.launch, 0);
}

TEST(Base, AStepIsNoShorterThanItsLongestPart) {
  for (const std::string& list : {ImageList(8, 1), ImageList(64, 4), TokenList(128, 2)}) {
    for (const std::int64_t batch : {1, 16, 512}) {
      for (const int workers : {0, 1, 8}) {
        const Base base = Of(list, batch, TestGpu(), Precision::kBf16, workers);
        EXPECT_GE(base.Step(base.gpu), std::max({base.gpu, base.host, base.Load()}))
            << list << ", batch " << batch << ", " << workers << " workers";
      }
    }
  }
}

TEST(Base, MoreWorkersAreNeverSlower) {
  for (const std::int64_t batch : {1, 64, 4096}) {
    double before = 1e9;
    for (const int workers : {0, 1, 2, 4, 16, 64}) {
      const Base base = Of(ImageList(16, 1), batch, TestGpu(), Precision::kBf16, workers);
      EXPECT_LE(base.Step(base.gpu), before) << "batch " << batch << ", " << workers << " workers";
      before = base.Step(base.gpu);
    }
  }
}

TEST(Base, WithoutWorkersTheLoadComesOnTopOfTheStep) {
  const Base without = Of(ImageList(16, 1), 64, TestGpu(), Precision::kFp32, 0);
  Base hidden = without;
  hidden.inline_load = 0;
  EXPECT_GT(without.inline_load, 0);
  EXPECT_EQ(without.worker, 0);
  EXPECT_DOUBLE_EQ(without.Step(without.gpu), hidden.Step(without.gpu) + without.inline_load);
}

TEST(Base, AHostTwiceAsSlowTakesTwiceAsLongOverItsOwnPart) {
  const graph::Graph graph = TestGraph(ImageList(16, 1), 64);
  const core::GpuModel gpu = TestGpu();
  Query query = TestQuery(graph, gpu);
  const Base ours = BaseOf(query);
  query.host_time = 2;
  const Base theirs = BaseOf(query);
  EXPECT_DOUBLE_EQ(theirs.host, 2 * ours.host);
  EXPECT_DOUBLE_EQ(theirs.worker, 2 * ours.worker);
  EXPECT_EQ(theirs.gpu, ours.gpu);
}

TEST(PeakFlops, OfAPrecisionThatTheGpuLacksIsThatOfPlainCores) {
  core::GpuModel gpu = TestGpu();
  gpu.bf16_tflops.reset();
  EXPECT_EQ(PeakFlops(gpu, Precision::kBf16), gpu.fp32_tflops * 1e12);
  EXPECT_FALSE(HasMatrixUnits(gpu, Precision::kBf16));
  EXPECT_TRUE(HasMatrixUnits(gpu, Precision::kFp16));
  gpu.fp16_tflops.reset();
  gpu.tf32_tflops.reset();
  for (const Precision precision : kPrecisions) {
    EXPECT_EQ(PeakFlops(gpu, precision), gpu.fp32_tflops * 1e12);
  }
}

// Samples of the same two numbers, as whole numbers and not.
TEST(Base, WhatIsLookedUpLoadsSoonerThanWhatIsScaled) {
  const auto list = [](const char* type) {
    return fmt::format(
        R"({{"inputs":[{{"name":"x","shape":["batch",2],"dtype":"{}"}}],"layers":[{}]}})", type,
        type == std::string_view("int64") ? R"({"type":"embedding","rows":9,"dim":4})"
                                          : R"({"type":"linear","out":4})");
  };
  const Base whole = Of(list("int64"), 1024, TestGpu()),
             other = Of(list("float32"), 1024, TestGpu());
  EXPECT_LT(whole.worker, other.worker);
}

TEST(Base, LoaderProcessesAreInEachOthersWay) {
  const double alone = Of(ImageList(32, 2), 64, TestGpu(), Precision::kFp32, 1).worker;
  const double eight = Of(ImageList(32, 2), 64, TestGpu(), Precision::kFp32, 8).worker;
  EXPECT_LT(eight, alone);
  EXPECT_GT(8 * eight, alone);
}

// Copies are made by memory, which is no slower on a slow day.
TEST(Base, ACallThatWasToldCostsTheHostLessThanAnOperatorOfAGraph) {
  StepWork work;
  work.forward = work.view_calls = work.backward = 1000;
  const double of_a_graph = work.Host(BuiltInRates());
  work.told = true;
  EXPECT_LT(work.Host(BuiltInRates()), 0.9 * of_a_graph);
  EXPECT_GT(work.Host(BuiltInRates()), 0.6 * of_a_graph);
}

TEST(Base, ASlowHostLoadsAndLaunchesSlowerButPinsAsFast) {
  const graph::Graph graph = TestGraph(ImageList(32, 2), 64);
  const core::GpuModel gpu = TestGpu();
  Query query = TestQuery(graph, gpu, Precision::kFp32, 4);
  const Base usual = BaseOf(query);
  query.host_time = 2;
  const Base slow = BaseOf(query);
  EXPECT_DOUBLE_EQ(slow.worker, 2 * usual.worker);
  EXPECT_DOUBLE_EQ(slow.host, 2 * usual.host);
  EXPECT_EQ(slow.pin, usual.pin);
}

}  // namespace
}  // namespace sharewell::predict
