#include "predict/repeats.h"

#include <gmock/gmock.h>

#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

class RepeatsTest : public ::testing::Test {
 protected:
  Row Measured(const std::string& workload, double step, double host_time) const {
    Row row;
    row.workload = workload;
    row.query.graph = &graph;
    row.query.gpu = &gpu;
    row.query.host_time = host_time;
    row.measured[Index(Figure::kStepSeconds)] = step;
    return row;
  }
  static std::optional<double> Step(const Row& row) {
    return row.measured[Index(Figure::kStepSeconds)];
  }

  graph::Graph graph = TestGraph(RecurrentList(8), 4);
  core::GpuModel gpu = TestGpu();
};

TEST_F(RepeatsTest, RowsOfOneWorkloadAreTheirMedian) {
  const std::vector<Row> rows = {Measured("a", 1, 1), Measured("b", 5, 1), Measured("a", 9, 3),
                                 Measured("a", 2, 1.5)};
  const std::vector<Row> merged = MergeRepeats(rows);
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].workload, "b") << "in the order of their last rows";
  EXPECT_EQ(Step(merged[0]), 5);
  EXPECT_EQ(merged[1].workload, "a");
  EXPECT_EQ(Step(merged[1]), 2);
  EXPECT_EQ(merged[1].query.host_time, 1.5);
}

TEST_F(RepeatsTest, WhatOneRowKnowsAndTheOtherDoesNotIsKept) {
  std::vector<Row> rows = {Measured("a", 1, 1), Measured("a", 3, 1)};
  rows[0].measured[Index(Figure::kMemory)] = 7e9;
  const std::vector<Row> merged = MergeRepeats(rows);
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_EQ(Step(merged[0]), 2);
  EXPECT_EQ(merged[0].measured[Index(Figure::kMemory)], 7e9);
  EXPECT_FALSE(merged[0].measured[Index(Figure::kPower)]);
}

TEST_F(RepeatsTest, AnotherBatchPrecisionOptimizerLoaderGpuOrGraphIsAnotherWorkload) {
  const graph::Graph other_batch = TestGraph(RecurrentList(8), 8);
  core::GpuModel other_gpu = TestGpu();
  other_gpu.name = "T2";
  const graph::Graph other = TestGraph(TokenList(8, 2), 4);
  std::vector<Row> rows(7, Measured("a", 1, 1));
  rows[1].query.graph = &other_batch;
  rows[2].precision_word = "bf16";
  rows[3].query.run.optimizer = graph::Optimizer::kAdam;
  rows[4].query.workers = 0;
  rows[5].query.gpu = &other_gpu;
  rows[6].query.graph = &other;
  EXPECT_EQ(MergeRepeats(rows).size(), 7U);
  EXPECT_TRUE(MergeRepeats({}).empty());
}

}  // namespace
}  // namespace sharewell::predict
