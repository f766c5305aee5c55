// Units as types: a quantity adds to and compares with its own kind only, scales by a plain number,
// and divides by its own kind into a plain number. Ratios (shares of one) are plain doubles by
// name.
#pragma once

#include <compare>

namespace sharewell::core {

template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value + b.value);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value - b.value);
  }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Watts = Quantity<struct WattsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using Ratio = double;  // a share of one, or one rate over another

constexpr Bytes GiB(double n) { return Bytes(n * 1024 * 1024 * 1024); }
constexpr BytesPerSecond GBps(double n) { return BytesPerSecond(n * 1e9); }

}  // namespace sharewell::core
