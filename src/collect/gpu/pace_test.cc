#include "collect/gpu/pace.h"

#include <gtest/gtest.h>

#include <chrono>

#include "collect/gpu/energy_counter.h"

namespace sharewell::collect {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PaceTest, TakesItsPartOfTheTime) {
  const Pace::Clock::time_point start{seconds(1000)};
  Pace pace(1.0 / 1000);
  EXPECT_TRUE(pace.Due(start));
  pace.Took(start, milliseconds(7));
  EXPECT_FALSE(pace.Due(start + milliseconds(6999)));
  EXPECT_TRUE(pace.Due(start + milliseconds(7000)));
  pace.Took(start, milliseconds(0));
  EXPECT_TRUE(pace.Due(start));
  pace.Took(start, seconds(5));  // however long it took, it is tried again
  EXPECT_TRUE(pace.Due(start + seconds(60)));
}

TEST(EnergyCounterTest, IsCarriedOnByPowerAndNeverGoesBack) {
  EnergyCounter energy;
  energy.Carry(100, 1);
  EXPECT_EQ(energy.value(), std::nullopt);
  energy.Read(1000);
  EXPECT_EQ(energy.value(), 1000);
  energy.Carry(100, 2);
  EXPECT_EQ(energy.value(), 1200);
  energy.Carry(50, 1);
  EXPECT_EQ(energy.value(), 1250);
  energy.Read(1240);  // it was less: what was shown stays until the counter has caught up
  EXPECT_EQ(energy.value(), 1250);
  energy.Carry(100, 0.05);
  EXPECT_EQ(energy.value(), 1250);
  energy.Carry(100, 0.1);
  EXPECT_EQ(energy.value(), 1255);
  energy.Read(1300);
  EXPECT_EQ(energy.value(), 1300);
  energy.Read(5);  // the driver was loaded anew
  EXPECT_EQ(energy.value(), 5);
}

}  // namespace
}  // namespace sharewell::collect
