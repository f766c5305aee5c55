// Kriging: values that were measured at some places, carried to others by how alike the places are
// (Krige, 1951; the Gaussian process of learn/gaussian.h with the likeness left to the caller, for
// places that are no rows of numbers). The values' mean is taken as 0.
#pragma once

#include <span>
#include <vector>

#include "core/result.h"

namespace sharewell::predict {

class Kriging {
 public:
  Kriging() = default;

  // `likeness` is n x n, row-major: the covariance of the true values at each two places. `noise`
  // is the variance of each measurement around them, in the same unit. An error where the matrix is
  // no covariance as far as doubles can tell. REQUIRES n values and n noises. Cost: n^3 / 3.
  static core::Result<Kriging> Fit(std::vector<double> likeness, std::span<const double> noise,
                                   std::span<const double> values);

  // The value at a place that is `alike` the measured ones: one covariance each, in their order.
  double Mean(std::span<const double> alike) const;
  // Variance of the true value there, in the covariance's unit, if it is `prior` where nothing was
  // measured. Never below 0. Cost: n^2.
  double Variance(std::span<const double> alike, double prior) const;

 private:
  std::vector<double> factor_;
  std::vector<double> weights_;
};

}  // namespace sharewell::predict
