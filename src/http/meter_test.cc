#include "http/meter.h"

#include <gtest/gtest.h>

namespace sharewell::http {
namespace {

using std::chrono::seconds;

TEST(Meter, AMinutesPartMayBeTakenAtOnceAndComesBack) {
  Meter meter;
  const core::Seconds per_minute(20);
  const Meter::Time begin{};
  EXPECT_FALSE(meter.Wait(per_minute, begin));
  meter.Charge(core::Seconds(19));
  EXPECT_FALSE(meter.Wait(per_minute, begin));
  meter.Charge(core::Seconds(2));
  const auto wait = meter.Wait(per_minute, begin);
  ASSERT_TRUE(wait);
  EXPECT_NEAR(wait->value, 3, 1e-9);  // a third of a second comes back each second
  EXPECT_TRUE(meter.Wait(per_minute, begin + seconds(2)));
  EXPECT_NEAR(meter.Used(per_minute, begin + seconds(3)).value, 20, 1e-9);
  EXPECT_FALSE(meter.Wait(per_minute, begin + seconds(4)));
  // Nobody saves up more than a minute's part.
  EXPECT_FALSE(meter.Wait(per_minute, begin + seconds(3600)));
  meter.Charge(core::Seconds(21));
  EXPECT_TRUE(meter.Wait(per_minute, begin + seconds(3600)));
}

TEST(Meter, ChargesWhatTheThreadUsesAndNotWhatItSleeps) {
  Meter meter;
  const Meter::Time begin{};
  {
    const MeteredBlock block(&meter);
    timespec nap{0, 50'000'000};
    ::nanosleep(&nap, nullptr);
  }
  EXPECT_FALSE(meter.Wait(core::Seconds(0.02), begin));
  {
    const MeteredBlock block(&meter);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  EXPECT_TRUE(meter.Wait(core::Seconds(0.02), begin));
}

}  // namespace
}  // namespace sharewell::http
