#include "core/plan.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(Plan, WaitsAndWakingAreNoActions) {
  Plan plan;
  EXPECT_TRUE(plan.empty());
  plan.waits.push_back({JobId(0), {}});
  plan.wake_at = Seconds(5);
  EXPECT_TRUE(plan.empty());
  plan.stops.push_back({JobId(0), {}});
  EXPECT_FALSE(plan.empty());
}

}  // namespace
}  // namespace sharewell::core
