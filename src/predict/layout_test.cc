#include "predict/layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

// Of samples of 8 tokens of 16, elements copied before all operators together.
double CopiedIn(const std::string& layers) {
  const std::string list = R"({"inputs":[{"name":"x","shape":["batch",8,16]}],"layers":[
                               {"type":"linear","out":16},)" +
                           layers + "]}";
  const std::vector<double> copied = CopiedBefore(TestGraph(list, 2));
  return std::accumulate(copied.begin(), copied.end(), 0.0);
}

constexpr double kAll = 2 * 8 * 16;
const std::string kTurn = R"({"type":"permute","order":[0,2,1]})";

TEST(CopiedBefore, NothingWhereNothingWasTransposed) {
  EXPECT_EQ(CopiedIn(R"({"type":"layernorm"},{"type":"relu"},{"type":"linear","out":4})"), 0);
}

TEST(CopiedBefore, ATransposedOperandOfALayerWithWeightsOrOfANorm) {
  EXPECT_EQ(CopiedIn(kTurn + R"(,{"type":"linear","out":4})"), kAll);
  EXPECT_EQ(CopiedIn(kTurn + R"(,{"type":"layernorm"})"), kAll);
  EXPECT_EQ(CopiedIn(kTurn + R"(,{"type":"relu"},{"type":"linear","out":4})"), kAll)
      << "what is computed element by element lies as what it was computed of";
}

TEST(CopiedBefore, NothingOnceItIsTransposedBack) {
  EXPECT_EQ(CopiedIn(kTurn + "," + kTurn + R"(,{"type":"linear","out":4})"), 0);
}

TEST(CopiedBefore, AReshapeOfATransposedTensor) {
  EXPECT_EQ(CopiedIn(kTurn + R"(,{"type":"flatten"})"), kAll);
  EXPECT_EQ(CopiedIn(R"({"type":"flatten"})"), 0);
}

}  // namespace
}  // namespace sharewell::predict
