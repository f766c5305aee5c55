#include "core/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace sharewell::core {
namespace {

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Compares = requires(A a, B b) {
  a < b;
};

TEST(Units, AddOnlyToTheirOwnKind) {
  static_assert(Adds<Seconds, Seconds>);
  static_assert(!Adds<Seconds, Bytes>);
  static_assert(!Adds<Seconds, double>);
  static_assert(!Compares<Bytes, BytesPerSecond>);
  static_assert(!std::is_convertible_v<double, Seconds>);
  EXPECT_EQ(Seconds(2) + Seconds(3), Seconds(5));
  EXPECT_EQ(Seconds(2) - Seconds(3), Seconds(-1));
}

TEST(Units, ScaleByANumberAndDivideIntoOne) {
  EXPECT_EQ(Seconds(2) * 3, Seconds(6));
  EXPECT_EQ(3 * Seconds(2), Seconds(6));
  EXPECT_EQ(Seconds(6) / 3, Seconds(2));
  static_assert(std::is_same_v<decltype(Bytes(6) / Bytes(3)), double>);
  EXPECT_EQ(Bytes(6) / Bytes(3), 2);
}

TEST(Units, AreZeroUntilSet) {
  EXPECT_EQ(Watts(), Watts(0));
  Seconds t;
  t += Seconds(4);
  t -= Seconds(1);
  EXPECT_EQ(t, Seconds(3));
  EXPECT_LT(Seconds(1), t);
}

TEST(Units, MemoryIsBinaryAndRatesAreDecimal) {
  EXPECT_EQ(GiB(1), Bytes(1073741824));
  EXPECT_EQ(GBps(2), BytesPerSecond(2e9));
}

}  // namespace
}  // namespace sharewell::core
