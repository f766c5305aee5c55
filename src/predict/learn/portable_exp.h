// e^x from additions and multiplications alone. The C library's exp differs in the last bit between
// processors (it uses fused multiply-add where there is one), and a model must give the same bytes
// everywhere. Within 2 units in the last place; 0 below -708.
#pragma once

#include <cmath>

namespace sharewell::predict::learn {

// REQUIRES x at most 700.
inline double PortableExp(double x) {
  if (!(x > -708)) return 0;
  // x = k ln 2 + r, ln 2 in two parts so that r is exact (Cody and Waite).
  const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  // Taylor: |r| <= 0.35, so the fourteenth term is below the last bit.
  double sum = 1.0 / 6227020800;
  for (double divisor : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0,
                         120.0, 24.0, 6.0, 2.0, 1.0, 1.0}) {
    sum = sum * r + 1 / divisor;
  }
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace sharewell::predict::learn
