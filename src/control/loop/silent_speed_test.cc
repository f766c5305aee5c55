#include "control/loop/silent_speed.h"

#include <gtest/gtest.h>

#include <vector>

namespace sharewell::control {
namespace {

using Jobs = std::vector<SmDemand>;

TEST(SilentSpeed, IsTheirMeanWhereNobodyTells) {
  EXPECT_NEAR(*SilentSpeed(0.72, Jobs{{0.6, {}}, {0.3, {}}}), 0.8, 1e-12);
}

TEST(SilentSpeed, IsWhatThoseThatTellLeave) {
  EXPECT_NEAR(*SilentSpeed(0.72, Jobs{{0.6, 0.9}, {0.3, {}}}), 0.6, 1e-12);
  EXPECT_EQ(*SilentSpeed(0.5, Jobs{{0.6, 0.9}, {0.3, {}}}), 0) << "it stands still, or nearly";
}

TEST(SilentSpeed, IsNotGuessedFromNextToNothing) {
  EXPECT_FALSE(SilentSpeed(0.7, Jobs{{0.6, 0.9}, {0.1, {}}}));
  EXPECT_FALSE(SilentSpeed(0.01, Jobs{{0.01, {}}, {0.005, {}}}));
  EXPECT_FALSE(SilentSpeed(0.7, Jobs{{0.6, 0.9}, {0.3, 0.9}})) << "nobody is silent";
  EXPECT_FALSE(SilentSpeed(0.7, {}));
}

}  // namespace
}  // namespace sharewell::control
