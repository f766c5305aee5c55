#include "core/numbers/steady.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sharewell::core {
namespace {

using Values = std::vector<double>;

// Two-sided noise that is the same everywhere.
double Noise(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 32;
  return static_cast<double>(x % 20001) / 10000 - 1;
}

Values Series(std::size_t n, double (*level)(std::size_t), double noise) {
  Values values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(level(i) * (1 + noise * Noise(i)));
  return values;
}

TEST(Steady, AConstantSeriesHasNoWarmup) {
  EXPECT_EQ(WarmupEnd(Values(20, 3.7), {}), 0U);
  EXPECT_EQ(WarmupEnd(Values(5, 0.1), {}), 0U);
  EXPECT_EQ(WarmupEnd(Values(20, 0), {}), 0U);
}

TEST(Steady, TooFewValuesAreNoSteadyState) {
  EXPECT_FALSE(WarmupEnd({}, {}));
  EXPECT_FALSE(WarmupEnd(Values(4, 1), {}));
  // 5 s are 50 values of a tenth.
  EXPECT_FALSE(WarmupEnd(Values(49, 1), {.interval = Seconds(0.1)}));
  EXPECT_EQ(WarmupEnd(Values(50, 1), {.interval = Seconds(0.1)}), 0U);
}

TEST(Steady, CompilationAtTheBeginningIsCutOff) {
  const auto values = Series(
      60, [](std::size_t i) { return i < 12 ? 0.0 : 25.0; }, 0.02);
  const auto cut = WarmupEnd(values, {});
  ASSERT_TRUE(cut);
  EXPECT_GE(*cut, 12U);
  EXPECT_LE(*cut, 20U);
}

TEST(Steady, ALongWarmupIsSeenSoonAfterItsEnd) {
  const auto level = [](std::size_t i) { return i < 60 ? 0.2 : 25.0; };
  EXPECT_EQ(WarmupEnd(Series(68, level, 0.02), {}), 60U);
  // Three values of it are not enough to say what is warm-up, but enough to know that it moves.
  const auto early = Series(63, level, 0.02);
  const auto cut = WarmupEnd(early, {});
  EXPECT_TRUE(!cut || !Settle(std::span(early).subspan(*cut), {}).settled);
}

TEST(Steady, AnAutotuneSpikeIsCutOff) {
  const auto values = Series(
      40, [](std::size_t i) { return i == 0   ? 2.0
                                     : i == 1 ? 14.0
                                              : 10.0; }, 0.01);
  const auto cut = WarmupEnd(values, {});
  ASSERT_TRUE(cut);
  EXPECT_GE(*cut, 1U);
  EXPECT_LE(*cut, 10U);
}

TEST(Steady, CachesThatFillAreCutOff) {
  const auto values = Series(
      120, [](std::size_t i) { return 10 * (1 - 0.6 * std::exp(-static_cast<double>(i) / 8)); },
      0.02);
  const auto cut = WarmupEnd(values, {});
  ASSERT_TRUE(cut);
  EXPECT_GE(*cut, 15U);
  EXPECT_LE(*cut, 60U);
}

TEST(Steady, PeriodicCheckpointsAreNoWarmup) {
  const auto values = Series(
      90, [](std::size_t i) { return i % 15 == 14 ? 4.0 : 10.0; }, 0.01);
  const auto cut = WarmupEnd(values, {});
  ASSERT_TRUE(cut);
  EXPECT_LE(*cut, 15U);
}

TEST(Steady, ARampIsNotSteady) {
  const auto ramp = Series(
      40, [](std::size_t i) { return 1.0 + static_cast<double>(i); }, 0);
  EXPECT_FALSE(WarmupEnd(ramp, {}));
}

TEST(Steady, NoiseAloneIsNotCutTooMuch) {
  for (std::size_t shift = 0; shift < 50; ++shift) {
    Values values;
    for (std::size_t i = 0; i < 40; ++i) values.push_back(10 + Noise(i + 1000 * shift));
    const auto cut = WarmupEnd(values, {});
    if (cut) {
      EXPECT_LE(*cut, 20U);
    }
  }
}

// A machine whose speed wanders by a fifth every ten seconds: a quiet stretch is no steady state.
TEST(Steady, AQuietStretchIsNotPickedOutOfNoise) {
  Values values;
  for (std::size_t i = 0; i < 200; ++i) {
    values.push_back(25 * (1 + 0.2 * Noise(i / 10)) * (1 + 0.01 * Noise(i + 5000)));
    const auto cut = WarmupEnd(values, {});
    if (cut) {
      EXPECT_LE(*cut, values.size() / 2);
    }
  }
}

TEST(Settle, QuietSeriesSettleAndWildOnesDoNot) {
  const auto quiet = Series(
      6, [](std::size_t) { return 10.0; }, 0.005);
  const auto settled = Settle(quiet, {});
  EXPECT_TRUE(settled.settled);
  ASSERT_TRUE(settled.uncertainty);
  EXPECT_LT(*settled.uncertainty, 0.02);
  const auto wild = Settle(Series(
                               6, [](std::size_t) { return 10.0; }, 0.5),
                           {});
  EXPECT_FALSE(wild.settled);
  EXPECT_GT(*wild.uncertainty, 0.02);
}

TEST(Settle, WildSeriesSettleInTheEnd) {
  std::size_t n = 10;
  while (n < 10'000 && !Settle(Series(
                                   n, [](std::size_t) { return 10.0; }, 0.3),
                               {})
                            .settled)
    ++n;
  EXPECT_GT(n, 20U);
  EXPECT_LT(n, 2'000U);
}

TEST(Settle, NeighboursThatAreAlikeDoNotCountTwice) {
  // The same twelve values, each held for ten readings: no more is known of the mean.
  Values once, held;
  for (std::size_t i = 0; i < 12; ++i) {
    once.push_back(10 + Noise(i));
    held.insert(held.end(), 10, 10 + Noise(i));
  }
  const double apart = *Settle(once, {}).uncertainty;
  EXPECT_GT(*Settle(held, {}).uncertainty, 0.7 * apart);
}

TEST(Settle, AnIdleJobSettlesByTheFloor) {
  Values idle(10, 0.0);
  idle[3] = 0.01;
  EXPECT_FALSE(Settle(idle, {}).settled);
  EXPECT_TRUE(Settle(idle, {.floor = 0.02}).settled);
  EXPECT_FALSE(Settle(Values(10, 0.0), {}).uncertainty);
  EXPECT_TRUE(Settle(Values(10, 0.0), {}).settled);
}

TEST(Settle, TooFewValuesAreNotSettled) {
  EXPECT_FALSE(Settle(Values(4, 1), {}).settled);
  EXPECT_FALSE(Settle({}, {}).settled);
}

TEST(Uncertainty, OfRepeatedRuns) {
  EXPECT_FALSE(Uncertainty(Values{1}));
  EXPECT_FALSE(Uncertainty(Values{0, 0}));
  EXPECT_DOUBLE_EQ(*Uncertainty(Values{5, 5, 5}), 0);
  // t(2) * 1 / sqrt(3) / 10
  EXPECT_NEAR(*Uncertainty(Values{9, 10, 11}), 4.303 / std::sqrt(3.0) / 10, 1e-9);
}

}  // namespace
}  // namespace sharewell::core
