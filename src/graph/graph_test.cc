#include "graph/graph.h"

#include <gtest/gtest.h>

namespace sharewell::graph {
namespace {

TEST(Graph, ElementsOfAnUnknownShapeAreNone) {
  EXPECT_EQ(Elements(Tensor{.name = "x", .dims = std::nullopt}), 0);
  EXPECT_EQ(Elements(Tensor{.name = "x", .dims = Dims{}}), 1);
  EXPECT_EQ(Elements(Tensor{.name = "x", .dims = Dims{2, 3, 4}}), 24);
}

TEST(Graph, EveryKindHasAName) {
  EXPECT_EQ(NameOf(Kind::kConv), "conv");
  EXPECT_EQ(NameOf(Kind::kHost), "host");
  EXPECT_EQ(NameOf(Kind::kUnknown), "unknown");
}

}  // namespace
}  // namespace sharewell::graph
