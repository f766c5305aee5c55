#include "interference/pair_table.h"

#include <gtest/gtest.h>

namespace sharewell::interference {
namespace {

using core::GpuModelId;
using core::WorkloadId;

const GpuModelId kModel(0);
const WorkloadId kA(0), kB(1), kC(2);

TEST(PairTable, KnowsBothDirectionsOfWhatWasMeasured) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kB, 0.9, 0.6);
  EXPECT_FLOAT_EQ(static_cast<float>(*table.Speed(kModel, kA, kB)), 0.9F);
  EXPECT_FLOAT_EQ(static_cast<float>(*table.Speed(kModel, kB, kA)), 0.6F);
  EXPECT_FALSE(table.Speed(kModel, kA, kC));
}

TEST(PairTable, WhatIsMeasuredAboveOneIsNoise) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kB, 1.2, -0.1);
  EXPECT_EQ(table.Speed(kModel, kA, kB), 1);
  EXPECT_EQ(table.Speed(kModel, kB, kA), 0);
}

TEST(PairTable, RepeatsAreAveraged) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kB, 0.5, 0.5);
  table.Add(kModel, kB, kA, 1.0, 0.75);  // the same pair, told the other way round
  EXPECT_EQ(table.Speed(kModel, kA, kB), 0.625);
  EXPECT_EQ(table.Speed(kModel, kB, kA), 0.75);
}

TEST(PairTable, AWorkloadBesideItselfIsTwoMeasurementsOfOneThing) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kA, 0.5, 0.75);
  EXPECT_EQ(table.Speed(kModel, kA, kA), 0.625);
}

TEST(PairTable, APairThatRanOutOfMemoryDoesNotFitAndHasNoSpeed) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kB, 0.5, 0.5);
  table.AddUnfit(kModel, kA, kB);
  EXPECT_FALSE(table.Fits(kModel, kA, kB));
  EXPECT_FALSE(table.Fits(kModel, kB, kA));
  EXPECT_FALSE(table.Speed(kModel, kA, kB));
  table.Add(kModel, kA, kB, 0.5, 0.5);
  EXPECT_FALSE(table.Fits(kModel, kA, kB)) << "seen once is seen";
  EXPECT_TRUE(table.Fits(kModel, kA, kC));
}

TEST(PairTable, TellsSharesOfTheSmsApart) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kB, 0.25, 0.75);
  table.Add(kModel, kA, kB, 0.5, 0.625, 1, 0.8);
  table.Add(kModel, kB, kA, 0.75, 0.5, 0.801, 1);  // told the other way round
  EXPECT_EQ(table.Speed(kModel, kA, kB), 0.25);
  EXPECT_EQ(table.Speed(kModel, kA, kB, 1, 0.8), 0.5);
  EXPECT_EQ(table.Speed(kModel, kB, kA, 0.8, 1), 0.6875);
  EXPECT_FALSE(table.Speed(kModel, kA, kB, 0.8, 1)) << "the other one was limited";
  EXPECT_FALSE(table.Speed(kModel, kA, kB, 1, 0.6));
  table.AddUnfit(kModel, kA, kB);
  EXPECT_FALSE(table.Speed(kModel, kA, kB, 1, 0.8)) << "memory does not depend on shares";
}

TEST(PairTable, UnknownIdsAreNeitherMeasuredNorUnfit) {
  PairTable table(1, 3);
  table.Add(kModel, kA, kA, 0.5, 0.5);
  for (WorkloadId other : {WorkloadId(), WorkloadId(99)}) {
    EXPECT_FALSE(table.Speed(kModel, kA, other));
    EXPECT_FALSE(table.Speed(kModel, other, kA));
    EXPECT_TRUE(table.Fits(kModel, other, other));
  }
  EXPECT_FALSE(table.Speed(GpuModelId(7), kA, kA));
  EXPECT_FALSE(PairTable().Speed(kModel, kA, kA));
  EXPECT_TRUE(PairTable().empty());
}

TEST(PairTable, MayBeOfAFewAmongMany) {
  const WorkloadId few[] = {WorkloadId(70000), WorkloadId(3)};
  PairTable table(1, few);
  table.Add(kModel, few[0], few[1], 0.5, 0.75);
  EXPECT_EQ(table.Speed(kModel, few[1], few[0]), 0.75);
  EXPECT_FALSE(table.Speed(kModel, WorkloadId(0), few[0]));
  EXPECT_FALSE(table.Speed(kModel, WorkloadId(), WorkloadId(80000)));
  EXPECT_FALSE(PairTable(1, std::span<const WorkloadId>()).Speed(kModel, kA, kA));
}

}  // namespace
}  // namespace sharewell::interference
