#include "predict/learn/gaussian/cholesky.h"

#include <cmath>

namespace sharewell::predict::learn {

bool Factorise(std::vector<double>& a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = &a[i * n];
    for (std::size_t j = 0; j < i; ++j) {
      const double* const other = &a[j * n];
      row[j] = (row[j] - Dot(row, other, j)) / other[j];
    }
    const double square = row[i] - Dot(row, row, i);
    // Written so that NaN fails too.
    if (!(square > 0) || !std::isfinite(square)) return false;
    row[i] = std::sqrt(square);
  }
  return true;
}

void SolveLower(const std::vector<double>& l, std::size_t n, std::span<double> b) {
  for (std::size_t i = 0; i < n; ++i) {
    b[i] = (b[i] - Dot(&l[i * n], b.data(), i)) / l[i * n + i];
  }
}

void SolveFactored(const std::vector<double>& l, std::size_t n, std::span<double> b) {
  SolveLower(l, n, b);
  for (std::size_t i = n; i-- > 0;) {
    b[i] /= l[i * n + i];
    for (std::size_t j = 0; j < i; ++j) b[j] -= l[i * n + j] * b[i];
  }
}

std::vector<double> InvertFactor(const std::vector<double>& l, std::size_t n) {
  std::vector<double> x(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    double* const row = &x[j * n];
    row[j] = 1 / l[j * n + j];
    for (std::size_t i = j + 1; i < n; ++i) {
      row[i] = -Dot(&l[i * n + j], row + j, i - j) / l[i * n + i];
    }
  }
  return x;
}

}  // namespace sharewell::predict::learn
