// How alike two rows are, by their squared distance in length scales: 1 for the same row, falling
// to 0.
#pragma once

#include <cmath>

#include "predict/learn/portable_exp.h"

namespace sharewell::predict::learn {

enum class Kernel {
  kMatern52,  // twice differentiable: rough enough for measured times
  kRbf,       // smooth without end
};

// Rows so far apart that e^-r is 0 are not alike at all, however large the factor before it.
inline double Alike(Kernel kernel, double square) {
  if (kernel == Kernel::kRbf) return PortableExp(-square / 2);
  const double r = std::sqrt(5 * square);
  const double e = PortableExp(-r);
  return e > 0 ? (1 + r + r * r / 3) * e : 0;
}

// Derivative of Alike by the squared distance.
inline double AlikeSlope(Kernel kernel, double square) {
  if (kernel == Kernel::kRbf) return -PortableExp(-square / 2) / 2;
  const double r = std::sqrt(5 * square);
  const double e = PortableExp(-r);
  return e > 0 ? -5.0 / 6 * (1 + r) * e : 0;
}

}  // namespace sharewell::predict::learn
