// Gaussian-process regression (Rasmussen and Williams, 2006) on standardised features, for the few
// hundred rows where it often generalises better than trees. Also says how sure it is.
//
// Length scale and noise are chosen by the squared leave-one-out error, in closed form (their
// equation 5.12); with `ard` each feature then gets a length of its own by the gradient of the
// marginal likelihood, kept only where that error falls. Cost: rows^3 / 3 to fit, rows x features a
// mean, rows^2 a spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "predict/learn/gaussian/kernel.h"
#include "predict/learn/scaler.h"
#include "predict/learn/table.h"

namespace sharewell::predict::learn {

struct GaussianOptions {
  Kernel kernel = Kernel::kMatern52;
  bool ard = false;              // a length scale for every feature
  double length = 0;             // in median distances between rows; 0: chosen
  double noise = 0;              // variance of the noise, in variances of the signal; 0: chosen
  std::size_t most_rows = 800;   // with more, that many are drawn
  std::size_t tuned_rows = 300;  // with more, that many are drawn to choose length and noise
  std::uint64_t seed = 1;
  friend bool operator==(const GaussianOptions&, const GaussianOptions&) = default;
};

// All that the answers follow from.
struct GaussianState {
  Kernel kernel = Kernel::kMatern52;
  Scaler scaler;
  std::vector<double> inverse_lengths;  // by feature
  double noise = 0.01;                  // in variances of the signal
  double signal = 1;                    // variance of what varies
  double mean = 0;
  std::vector<double> rows;     // standardised, divided by the lengths; row-major
  std::vector<double> targets;  // around the mean
  std::vector<double> weights;  // a row's noise is divided by its weight
  friend bool operator==(const GaussianState&, const GaussianState&) = default;
};

class Gaussian {
 public:
  // An error where the rows are so alike, and the noise so small, that they cannot be told apart.
  static core::Result<Gaussian> From(GaussianState state);
  // The same from a state whose solution is known: nothing is factorised until somebody asks for a
  // spread. REQUIRES `solution` as solution() of the same state, one number a row.
  static Gaussian FromSolved(GaussianState state, std::vector<double> solution);

  double Predict(std::span<const double> row) const;
  // Standard deviation of a new measurement of this row.
  double Spread(std::span<const double> row) const;
  // Mean size of the answer's slope along each standardised feature, over the rows learnt from,
  // summing to 1 if any is not 0.
  std::vector<double> Importance() const;
  const GaussianState& state() const { return state_; }
  // What a row's likeness is multiplied by; it follows from the state at the cost of rows^3 / 3.
  const std::vector<double>& solution() const { return alpha_; }
  friend bool operator==(const Gaussian& a, const Gaussian& b) { return a.state_ == b.state_; }

 private:
  std::size_t columns() const { return state_.inverse_lengths.size(); }
  std::size_t rows() const { return state_.targets.size(); }
  // Empty where the rows cannot be told apart.
  std::vector<double> Factor() const;
  std::vector<double> Scaled(std::span<const double> row) const;
  std::vector<double> AlikeAll(std::span<const double> scaled) const;

  GaussianState state_;
  std::vector<double> factor_;  // of the rows' covariance, in variances of the signal; may be empty
  std::vector<double> alpha_;
};

// REQUIRES a table that passes Check().
core::Result<Gaussian> FitGaussian(const GaussianOptions& options, const Table& table);

}  // namespace sharewell::predict::learn
