#include "control/service/view/gpu_table.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

GpuTable Two() {
  GpuView a, b;
  a.gpu = {0, "GPU-a", "H200"};
  b.gpu = {4, "GPU-b", "H200"};
  return GpuTable({a, b});
}

TEST(GpuTable, FindsByIndexAndUuid) {
  const GpuTable gpus = Two();
  EXPECT_EQ(gpus.Named("4"), core::GpuId(1));
  EXPECT_EQ(gpus.Named("GPU-a"), core::GpuId(0));
  EXPECT_EQ(gpus.Named("1"), std::nullopt);
  EXPECT_EQ(gpus.WithUuid("GPU-b"), core::GpuId(1));
  EXPECT_EQ(gpus.WithUuid("4"), std::nullopt);
}

TEST(GpuTable, ADrainedOrLostGpuIsNotUsableAndSaysWhy) {
  GpuTable gpus = Two();
  EXPECT_EQ(gpus.UnusableText(), "");
  gpus.SetDrained(core::GpuId(0), true);
  EXPECT_TRUE(gpus.SetProblem(core::GpuId(1), "fell off the bus"));
  EXPECT_FALSE(gpus.SetProblem(core::GpuId(1), "fell off the bus")) << "that was known";
  EXPECT_FALSE(gpus.usable(core::GpuId(0)));
  EXPECT_FALSE(gpus.usable(core::GpuId(1)));
  EXPECT_EQ(gpus.UnusableText(), "; GPU 0 is drained; GPU 4: fell off the bus");
  EXPECT_TRUE(gpus.SetProblem(core::GpuId(1), ""));
  EXPECT_TRUE(gpus.usable(core::GpuId(1)));
}

TEST(GpuTable, AGpuThatStrangersKeepBusyIsNotUsableAndWhoHoldsMemoryIsNamed) {
  GpuTable gpus = Two();
  const Stranger idle{7, "bob", core::Bytes(2e9), false};
  EXPECT_TRUE(gpus.SetStrangers(core::GpuId(0), {idle}));
  EXPECT_FALSE(gpus.SetStrangers(core::GpuId(0), {idle})) << "that was known";
  EXPECT_TRUE(gpus.usable(core::GpuId(0)));
  EXPECT_EQ(gpus.UnusableText(), "; GPU 0 has other processes: 1.9 GiB, pid 7 of bob");
  EXPECT_TRUE(gpus.SetStrangers(core::GpuId(0), {idle, {9, "ann", core::Bytes(1e9), true}}));
  EXPECT_FALSE(gpus.usable(core::GpuId(0)));
  EXPECT_EQ(gpus.UnusableText(),
            "; GPU 0 is kept busy by other processes: 2.8 GiB, pid 7 of bob, pid 9 of ann");
  EXPECT_TRUE(gpus.SetStrangers(core::GpuId(0), {}));
  EXPECT_EQ(gpus.UnusableText(), "");
  EXPECT_EQ(InWords(std::vector<Stranger>(5, idle)),
            "other processes: 9.3 GiB, pid 7 of bob, pid 7 of bob, pid 7 of bob and 2 more");
}

TEST(GpuTable, WhatIsDrainedIsWrittenAndReadAgain) {
  GpuTable gpus = Two();
  const std::string text = gpus.DrainedText(core::GpuId(1), true);
  EXPECT_EQ(text, "GPU-b\n");
  GpuTable again = Two();
  again.ReadDrained(text);
  EXPECT_TRUE(again.usable(core::GpuId(0)));
  EXPECT_FALSE(again.usable(core::GpuId(1)));
  EXPECT_EQ(again.DrainedText(core::GpuId(1), false), "");
}

}  // namespace
}  // namespace sharewell::control
