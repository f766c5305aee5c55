#include "predict/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

std::vector<Figure> AllFigures() {
  std::vector<Figure> all;
  for (std::size_t f = 0; f < kFigures; ++f) all.push_back(static_cast<Figure>(f));
  return all;
}

// Ordinary networks, one that does nothing, and one so large that it saturates.
std::vector<graph::Graph> Graphs() {
  std::vector<graph::Graph> out;
  for (const std::string& list : {ImageList(32, 2), TokenList(64, 2), RecurrentList(64)}) {
    out.push_back(TestGraph(list, 16));
  }
  out.emplace_back();
  out.push_back(TestGraph(R"({"inputs":[{"name":"x","shape":["batch",1000000000,1000000000,64]}],
                             "layers":[{"type":"linear","out":16000000},{"type":"relu"}]})",
                          1 << 24));
  return out;
}

TEST(Figure, ComesBackFromItsScale) {
  for (const Figure figure : AllFigures()) {
    for (const double value : {1e-6, 0.01, 0.5, 1.0}) {
      EXPECT_NEAR(FromScale(figure, ToScale(figure, value)), value, 1e-12) << NameOf(figure);
    }
    if (!IsShare(figure)) {
      EXPECT_NEAR(FromScale(figure, ToScale(figure, 3e11)) / 3e11, 1, 1e-12) << NameOf(figure);
    }
  }
}

TEST(Figure, SharesAreCutAtNothingAndAll) {
  EXPECT_EQ(FromScale(Figure::kBusy, ToScale(Figure::kBusy, 1) + 1), 1);
  EXPECT_EQ(FromScale(Figure::kBusy, -1), 0);
  EXPECT_EQ(ToScale(Figure::kBusy, -0.1), 0) << "nothing is less than none";
}

TEST(Figure, WhatIsNoShareStaysPositiveAndFinite) {
  EXPECT_TRUE(std::isfinite(FromScale(Figure::kMemory, 1e9)));
  EXPECT_TRUE(std::isfinite(ToScale(Figure::kMemory, 0)));
  EXPECT_GE(FromScale(Figure::kMemory, -1e9), 0);
}

TEST(Features, EachValueHasANameOfItsOwn) {
  const graph::Graph graph = TestGraph(ImageList(8, 1), 4);
  const core::GpuModel gpu = TestGpu();
  const Query query = TestQuery(graph, gpu);
  const Base base = BaseOf(query);
  for (const Figure figure : AllFigures()) {
    const std::vector<std::string> names = FeatureNames(figure);
    EXPECT_EQ(FeaturesOf(figure, query, base, base.gpu).size(), names.size()) << NameOf(figure);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size())
        << NameOf(figure);
  }
}

TEST(Features, AreFiniteWhateverTheGraph) {
  const core::GpuModel gpu = TestGpu();
  core::GpuModel nothing;  // a catalogue row of which only the name is known
  for (const graph::Graph& graph : Graphs()) {
    for (const core::GpuModel* on : {&gpu, static_cast<const core::GpuModel*>(&nothing)}) {
      const Query query = TestQuery(graph, *on, graph::Precision::kBf16, 0);
      const Base base = BaseOf(query);
      for (const Figure figure : AllFigures()) {
        const auto names = FeatureNames(figure);
        const auto values = FeaturesOf(figure, query, base, base.gpu);
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_TRUE(std::isfinite(values[i])) << NameOf(figure) << ": " << names[i];
        }
      }
    }
  }
}

TEST(Features, TimeThatWasMeasuredIsSeenByAllFiguresBehindIt) {
  const graph::Graph graph = TestGraph(ImageList(8, 1), 4);
  const core::GpuModel gpu = TestGpu();
  const Query query = TestQuery(graph, gpu);
  const Base base = BaseOf(query);
  EXPECT_NE(FeaturesOf(Figure::kStepSeconds, query, base, 1),
            FeaturesOf(Figure::kStepSeconds, query, base, 2));
  EXPECT_EQ(FeaturesOf(Figure::kBusySeconds, query, base, 1),
            FeaturesOf(Figure::kBusySeconds, query, base, 2))
      << "the busy time must not be told what it is";
  EXPECT_EQ(FeaturesOf(Figure::kMemory, query, base, 1),
            FeaturesOf(Figure::kMemory, query, base, 2));
}

TEST(BaseFigure, IsANumberAndSharesAreShares) {
  const core::GpuModel gpu = TestGpu();
  for (const graph::Graph& graph : Graphs()) {
    const Query query = TestQuery(graph, gpu, graph::Precision::kBf16);
    const Base base = BaseOf(query);
    for (const Figure figure : AllFigures()) {
      const double value = BaseFigure(figure, query, base, base.gpu, base.Step(base.gpu));
      EXPECT_GE(value, 0) << NameOf(figure);
      EXPECT_TRUE(!IsShare(figure) || value <= 1) << NameOf(figure);
    }
  }
}

TEST(BaseFigure, PowerLiesBetweenIdleAndTheLimit) {
  const graph::Graph graph = TestGraph(ImageList(64, 4), 64);
  const core::GpuModel gpu = TestGpu();
  const Query query = TestQuery(graph, gpu);
  const Base base = BaseOf(query);
  EXPECT_EQ(BaseFigure(Figure::kPower, query, base, 0, 1), gpu.idle_power->value);
  EXPECT_LT(BaseFigure(Figure::kPower, query, base, 1, 1), gpu.power_limit->value);
}

TEST(BaseFigure, PlainFp32LeavesTheMatrixUnitsAlone) {
  const graph::Graph graph = TestGraph(ImageList(64, 4), 64);
  const core::GpuModel gpu = TestGpu();
  const Query plain = TestQuery(graph, gpu);
  const Query half = TestQuery(graph, gpu, graph::Precision::kBf16);
  EXPECT_LT(BaseFigure(Figure::kTensor, plain, BaseOf(plain), 0.01, 0.01), 0.002);
  EXPECT_GT(BaseFigure(Figure::kTensor, half, BaseOf(half), 0.01, 0.01), 0.02);
}

}  // namespace
}  // namespace sharewell::predict
