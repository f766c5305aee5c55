#include "predict/operator_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "predict/base.h"
#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

constexpr double kAlone = 3;  // kernels of this world take three times the plain limit

OperatorShape Product(double rows, double inner, double outer, int arithmetic = 2) {
  OperatorShape shape;
  shape.of = OpClass::kMatMul;
  shape.arithmetic = arithmetic;
  shape.flops = {2 * rows * inner * outer, 4 * rows * inner * outer};
  shape.bytes = {2 * (rows * inner + inner * outer + rows * outer),
                 4 * (rows * inner + inner * outer + rows * outer)};
  shape.contraction = inner;
  shape.outputs = rows * outer;
  shape.channels = outer;
  return shape;
}

double Limit(const OperatorShape& shape, std::size_t pass, const Roofline& roofline) {
  return shape.flops[pass] / roofline.flops[static_cast<std::size_t>(shape.arithmetic)] +
         shape.bytes[pass] / roofline.bandwidth + 2e-6;
}

std::vector<OperatorTable::Cell> Cells(const std::string& family = "a") {
  const Roofline roofline = RooflineOf(TestGpu());
  std::vector<OperatorTable::Cell> cells;
  for (const double rows : {256., 1024., 4096.}) {
    for (const double inner : {256., 1024.}) {
      for (const double outer : {256., 1024.}) {
        OperatorTable::Cell cell;
        cell.shape = Product(rows, inner, outer);
        cell.seconds = {kAlone * Limit(cell.shape, kForward, roofline),
                        kAlone * Limit(cell.shape, kBackward, roofline)};
        cell.families = {family};
        cells.push_back(cell);
      }
    }
  }
  return cells;
}

OperatorTable TestTable() { return {Cells(), RooflineOf(TestGpu())}; }

TEST(OperatorTable, TellsWhatWasMeasured) {
  const OperatorTable table = TestTable();
  for (const auto& cell : table.cells()) {
    for (const std::size_t pass : {kForward, kBackward}) {
      EXPECT_NEAR(
          table.Seconds(cell.shape, pass, RooflineOf(TestGpu()))->seconds / cell.seconds[pass], 1,
          0.02);
    }
  }
}

TEST(OperatorTable, InBetweenItInterpolates) {
  const OperatorShape between = Product(700, 500, 400);
  const Roofline roofline = RooflineOf(TestGpu());
  EXPECT_NEAR(TestTable().Seconds(between, kForward, roofline)->seconds /
                  Limit(between, kForward, roofline),
              kAlone, 0.2);
}

TEST(OperatorTable, ASlowShapeSlowsItsNeighboursAndNobodyElse) {
  auto cells = Cells();
  cells[0].seconds[kForward] *= 4;
  const OperatorTable slowed(cells, RooflineOf(TestGpu()));
  const Roofline roofline = RooflineOf(TestGpu());
  const auto change = [&](const OperatorShape& shape) {
    return slowed.Seconds(shape, kForward, roofline)->seconds /
           TestTable().Seconds(shape, kForward, roofline)->seconds;
  };
  EXPECT_GT(change(cells[0].shape), 3);
  EXPECT_GT(change(Product(280, 260, 260)), 1.5);
  EXPECT_LT(change(cells.back().shape), 1.3);
}

TEST(OperatorTable, IsSureOfWhatWasMeasuredAndLessSureFartherAway) {
  const Roofline roofline = RooflineOf(TestGpu());
  const double just = TestTable().Seconds(Cells()[0].shape, kForward, roofline)->support;
  const double near = TestTable().Seconds(Product(700, 500, 400), kForward, roofline)->support;
  EXPECT_GT(just, 0.9);
  EXPECT_LT(near, just);
  EXPECT_FALSE(TestTable().Seconds(Product(3e5, 1024, 1024), kForward, roofline))
      << "too far away to tell";
}

TEST(OperatorTable, OtherGpusHaveTheSameRatioOverTheirOwnLimits) {
  core::GpuModel half = TestGpu();
  half.bandwidth = half.bandwidth * 0.5;
  half.bf16_tflops = *half.bf16_tflops / 2;
  const OperatorShape shape = Product(4096, 1024, 1024);
  const double here = TestTable().Seconds(shape, kForward, RooflineOf(TestGpu()))->seconds;
  const double there = TestTable().Seconds(shape, kForward, RooflineOf(half))->seconds;
  EXPECT_GT(there / here, 1.7);
  EXPECT_LT(there / here, 2.01);
}

TEST(OperatorTable, SaysNothingOfOtherKindsAndOfShapesFarAway) {
  const Roofline roofline = RooflineOf(TestGpu());
  EXPECT_FALSE(TestTable().Seconds(Product(1024, 1024, 1024, 0), kForward, roofline));
  OperatorShape other = Product(1024, 1024, 1024);
  other.of = OpClass::kConv;
  EXPECT_FALSE(TestTable().Seconds(other, kForward, roofline));
  EXPECT_FALSE(TestTable().Seconds(Product(1e9, 4, 4), kForward, roofline));
  EXPECT_FALSE(OperatorTable().Seconds(Product(1024, 1024, 1024), kForward, roofline));
}

TEST(OperatorTable, WithoutAFamilyItForgetsWhatOnlyThatOneBrought) {
  auto cells = Cells("a");
  cells[0].families = {"b"};
  cells[1].families = {"a", "b"};
  const OperatorTable table(cells, RooflineOf(TestGpu()));
  EXPECT_EQ(table.Without({"b"}).cells().size(), cells.size() - 1);
  EXPECT_EQ(table.Without({"a", "b"}).cells().size(), 0U);
  EXPECT_EQ(table.Without({"c"}).cells().size(), cells.size());
}

TEST(OperatorTable, IsReadAsItWasWritten) {
  const std::string text = TestTable().Write();
  const auto read = OperatorTable::Read(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->Write(), text);
  EXPECT_EQ(read->cells().size(), TestTable().cells().size());
}

TEST(OperatorTable, ReadsNumbersHoweverTheyAreWritten) {
  const auto read = OperatorTable::Read(
      "1e+14 4e14 1000000000000000 4.8e12;"
      "0 0 2 1.5e-12 10 0.5 12345678901 1.179e+06 7. 1 1 1 1e-06 2E-6 1234567.25 0.000000125");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->roofline(), (Roofline{{1e14, 4e14, 1e15}, 4.8e12}));
  ASSERT_EQ(read->cells().size(), 1U);
  const OperatorTable::Cell& cell = read->cells()[0];
  EXPECT_EQ(cell.shape.flops, (std::array{1.5e-12, 10.0}));
  EXPECT_EQ(cell.shape.bytes, (std::array{0.5, 12345678901.0}));
  EXPECT_EQ(cell.shape.contraction, 1'179'000);
  EXPECT_EQ(cell.shape.outputs, 7);
  EXPECT_EQ(cell.seconds, (std::array{1e-6, 2e-6}));
  EXPECT_EQ(cell.shape.walk, (std::array{1234567.25, 0.000000125}));
  const std::string good = TestTable().Write();
  for (const char* more : {" ", "; ", ";;", ";.", ";1.2.3", ";-1", ";1e", ";nan", "e"}) {
    EXPECT_FALSE(OperatorTable::Read(good + more)) << more;
  }
}

TEST(OperatorTable, DamagedTextIsRefused) {
  const std::string text = TestTable().Write();
  for (const std::string& bad : {text.substr(0, text.rfind(' ')), text + ";1 2 3", text + ";x",
                                 "1 2;" + text, text + ";99 0 0 1 1 1 1 1 1 1 1 1 1 1"}) {
    const auto read = OperatorTable::Read(bad);
    ASSERT_FALSE(read) << bad.substr(0, 80);
    EXPECT_THAT(read.error().message, testing::HasSubstr("is damaged"));
  }
}

TEST(OperatorTable, TheBaseGoesByItWhereItKnowsTheOperator) {
  const graph::Graph graph = TestGraph(
      R"({"inputs":[{"name":"x","shape":["batch",1024]}],"layers":[{"type":"linear","out":1024},
         {"type":"linear","out":1024}]})",
      1024);
  const core::GpuModel gpu = TestGpu();
  Query query = TestQuery(graph, gpu, graph::Precision::kBf16);
  const Base before = BaseOf(query);
  auto cells = Cells();
  for (auto& cell : cells) cell.seconds = {cell.seconds[0] * 50, cell.seconds[1] * 50};
  const OperatorTable slow(cells, RooflineOf(gpu));
  query.operators = &slow;
  const Base after = BaseOf(query);
  EXPECT_EQ(before.tabulated, 0);
  EXPECT_GT(after.tabulated, 0.5);
  EXPECT_GT(after.gpu, 3 * before.gpu);
  EXPECT_EQ(after.host, before.host);
}

}  // namespace
}  // namespace sharewell::predict
