#include "core/interval.h"

#include <gtest/gtest.h>

#include "core/units.h"

namespace sharewell::core {
namespace {

TEST(Interval, KnowsWhichBoundsAreKnown) {
  const Interval<Bytes> both{Bytes(4), Bytes(3), Bytes(6)};
  EXPECT_TRUE(both.IsBounded());
  EXPECT_EQ(both.KnownLow(), Bytes(3));
  EXPECT_EQ(both.KnownHigh(), Bytes(6));
  auto some = Interval<>::Unbounded(2);
  EXPECT_EQ(some.median, 2);
  EXPECT_FALSE(some.KnownLow() || some.KnownHigh() || some.IsBounded());
  some.low = 0;
  EXPECT_EQ(some.KnownLow(), 0);
  EXPECT_FALSE(some.IsBounded());
}

TEST(Estimated, ChangesItsMedianAndBoundsAlike) {
  const Estimated<> before{{2, 1, 4}, Source::kAssumed};
  const Estimated<> after = Changed(before, [](double x) { return 10 * x; });
  EXPECT_EQ(after, (Estimated<>{{20, 10, 40}, Source::kAssumed}));
}

}  // namespace
}  // namespace sharewell::core
