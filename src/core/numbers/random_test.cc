#include "core/numbers/random.h"

#include <gtest/gtest.h>

#include <set>

namespace sharewell::core {
namespace {

constexpr int kDraws = 200000;

// Published results stand on these: a changed hash changes every simulated figure.
TEST(Random, TheHashIsPinned) {
  EXPECT_EQ(Mix(0), 0xe220a8397b1dcdafULL);  // SplitMix64's first output for seed 0
  EXPECT_EQ(HashOf({}), 0x853c49e6748fea9bULL);
  EXPECT_EQ(HashOf({1}), 0xb74e422effde5c13ULL);
  EXPECT_EQ(HashOf({1, 2, 3}), 0x1f57509bdeca0fdaULL);
  EXPECT_EQ(HashOf({3, 2, 1}), 0xf1953739d8eaaa5eULL);
}

TEST(Random, UniformIsInsideZeroAndOneAndEven) {
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = Uniform(HashOf({7, i}));
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.003);
  EXPECT_NEAR(squares / kDraws - mean * mean, 1.0 / 12, 0.001);
}

TEST(Random, NormalHasMeanZeroVarianceOneAndTheRightTails) {
  double sum = 0;
  double squares = 0;
  int beyond = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = Normal(HashOf({8, i}));
    sum += x;
    squares += x * x;
    beyond += x > 1.645 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(beyond) / kDraws, 0.05, 0.002);
}

TEST(Random, NeighbouringDrawsAreUnrelated) {
  double product = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    product += Normal(HashOf({9, i, 1})) * Normal(HashOf({9, i, 2}));
  }
  EXPECT_NEAR(product / kDraws, 0, 0.01);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 10000; ++i) seen.insert(HashOf({i}));
  EXPECT_EQ(seen.size(), 10000U);
}

}  // namespace
}  // namespace sharewell::core
