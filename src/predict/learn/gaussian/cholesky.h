// Cholesky factors of small symmetric matrices, row-major. Sums are taken in one fixed order, so
// the same matrix gives the same bytes on every machine.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sharewell::predict::learn {

// Four partial sums: the processor adds them side by side, always the same way.
inline double Dot(const double* a, const double* b, std::size_t n) {
  double s0 = 0;
  double s1 = 0;
  double s2 = 0;
  double s3 = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < n; ++i) s0 += a[i] * b[i];
  return (s0 + s1) + (s2 + s3);
}

// Replaces the lower triangle of the n x n matrix `a` by L, with L L' = a. False, and `a` in
// between, where a is not positive definite as far as doubles can tell.
bool Factorise(std::vector<double>& a, std::size_t n);

// x with L L' x = b, in place.
void SolveFactored(const std::vector<double>& l, std::size_t n, std::span<double> b);

// y with L y = b, in place.
void SolveLower(const std::vector<double>& l, std::size_t n, std::span<double> b);

// The transpose of L's inverse, in the upper triangle of an n x n matrix. Element (i, j) of the
// inverse of L L' is then the product of its rows i and j from the later of the two on.
std::vector<double> InvertFactor(const std::vector<double>& l, std::size_t n);

}  // namespace sharewell::predict::learn
