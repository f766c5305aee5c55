#include "predict/learn/gaussian/gaussian.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "predict/learn/gaussian/cholesky.h"
#include "predict/learn/gaussian/gaussian_tuning.h"
#include "predict/learn/sample.h"
#include "predict/learn/target_mean.h"
#include "predict/learn/trees/tree_ensemble.h"

namespace sharewell::predict::learn {
namespace {

// As many as this speak for all when the slopes are averaged.
constexpr std::size_t kRowsForImportance = 200;

double SquareDistance(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

std::vector<double> Gaussian::Factor() const {
  const GaussianState& s = state_;
  const std::size_t n = rows();
  const std::size_t p = columns();
  std::vector<double> factor(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      factor[i * n + j] = Alike(s.kernel, SquareDistance(&s.rows[i * p], &s.rows[j * p], p));
    }
    factor[i * n + i] = 1 + s.noise / s.weights[i];
  }
  if (!Factorise(factor, n)) factor.clear();
  return factor;
}

core::Result<Gaussian> Gaussian::From(GaussianState state) {
  Gaussian out;
  out.state_ = std::move(state);
  out.factor_ = out.Factor();
  if (out.factor_.empty() && out.rows() > 0) {
    return core::UsageError(
        "the rows of the Gaussian process cannot be told apart with noise {}: `sharewell-lab "
        "train` "
        "makes a new one",
        out.state_.noise);
  }
  out.alpha_ = out.state_.targets;
  SolveFactored(out.factor_, out.rows(), out.alpha_);
  return out;
}

Gaussian Gaussian::FromSolved(GaussianState state, std::vector<double> solution) {
  Gaussian out;
  out.state_ = std::move(state);
  SHAREWELL_CHECK(solution.size() == out.rows());
  out.alpha_ = std::move(solution);
  return out;
}

std::vector<double> Gaussian::Scaled(std::span<const double> row) const {
  std::vector<double> out(columns());
  state_.scaler.Apply(row, out);
  for (std::size_t f = 0; f < out.size(); ++f) out[f] *= state_.inverse_lengths[f];
  return out;
}

std::vector<double> Gaussian::AlikeAll(std::span<const double> scaled) const {
  std::vector<double> out(rows());
  for (std::size_t i = 0; i < rows(); ++i) {
    out[i] =
        Alike(state_.kernel, SquareDistance(scaled.data(), &state_.rows[i * columns()], columns()));
  }
  return out;
}

double Gaussian::Predict(std::span<const double> row) const {
  const auto alike = AlikeAll(Scaled(row));
  return state_.mean + Dot(alike.data(), alpha_.data(), rows());
}

double Gaussian::Spread(std::span<const double> row) const {
  auto alike = AlikeAll(Scaled(row));
  const std::vector<double> factor = factor_.empty() ? Factor() : std::vector<double>();
  if (factor_.empty() && factor.empty()) return std::sqrt(state_.signal * (1 + state_.noise));
  SolveLower(factor_.empty() ? factor : factor_, rows(), alike);
  const double known = Dot(alike.data(), alike.data(), rows());
  return std::sqrt(state_.signal * (std::max(1 - known, 0.0) + state_.noise));
}

std::vector<double> Gaussian::Importance() const {
  const std::size_t p = columns();
  std::vector<double> out(p);
  std::vector<double> slope(p);
  for (std::size_t i : Sample(rows(), kRowsForImportance, 1)) {
    std::fill(slope.begin(), slope.end(), 0);
    const double* const here = &state_.rows[i * p];
    for (std::size_t j = 0; j < rows(); ++j) {
      const double* const there = &state_.rows[j * p];
      const double pull = 2 * alpha_[j] * AlikeSlope(state_.kernel, SquareDistance(here, there, p));
      for (std::size_t f = 0; f < p; ++f) slope[f] += pull * (here[f] - there[f]);
    }
    for (std::size_t f = 0; f < p; ++f) out[f] += std::abs(slope[f]) * state_.inverse_lengths[f];
  }
  MakeShares(out);
  return out;
}

core::Result<Gaussian> FitGaussian(const GaussianOptions& options, const Table& table) {
  if (table.rows() > options.most_rows) {
    return FitGaussian(options,
                       table.Subset(Sample(table.rows(), options.most_rows, options.seed)));
  }
  const std::size_t p = table.columns();
  GaussianState state;
  state.kernel = options.kernel;
  state.scaler = Scaler::Of(table);
  state.mean = TargetMean(table);
  state.rows.resize(table.values.size());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    state.scaler.Apply(table.Row(i), std::span<double>(state.rows).subspan(i * p, p));
    state.targets.push_back(table.targets[i] - state.mean);
    state.weights.push_back(table.Weight(i));
  }
  Tune(options, state);
  // Rounded, so that files are half as long: a ten thousandth of a length changes nothing.
  for (std::size_t i = 0; i < state.rows.size(); ++i) {
    state.rows[i] = std::round(state.rows[i] * state.inverse_lengths[i % p] * 1e4) / 1e4;
  }
  return Gaussian::From(std::move(state));
}

}  // namespace sharewell::predict::learn
