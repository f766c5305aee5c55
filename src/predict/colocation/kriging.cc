#include "predict/colocation/kriging.h"

#include <algorithm>
#include <utility>

#include "predict/learn/gaussian/cholesky.h"

namespace sharewell::predict {

core::Result<Kriging> Kriging::Fit(std::vector<double> likeness, std::span<const double> noise,
                                   std::span<const double> values) {
  const std::size_t n = values.size();
  SHAREWELL_CHECK(likeness.size() == n * n && noise.size() == n);
  Kriging out;
  out.factor_ = std::move(likeness);
  for (std::size_t i = 0; i < n; ++i) out.factor_[i * n + i] += noise[i];
  if (!learn::Factorise(out.factor_, n)) {
    return core::UsageError("{} measurements cannot be told apart; is one of them not a number?",
                            n);
  }
  out.weights_.assign(values.begin(), values.end());
  learn::SolveFactored(out.factor_, n, out.weights_);
  return out;
}

double Kriging::Mean(std::span<const double> alike) const {
  SHAREWELL_CHECK(alike.size() == weights_.size());
  return learn::Dot(alike.data(), weights_.data(), alike.size());
}

double Kriging::Variance(std::span<const double> alike, double prior) const {
  std::vector<double> solved(alike.begin(), alike.end());
  learn::SolveLower(factor_, solved.size(), solved);
  return std::max(0.0, prior - learn::Dot(solved.data(), solved.data(), solved.size()));
}

}  // namespace sharewell::predict
