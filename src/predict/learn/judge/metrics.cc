#include "predict/learn/judge/metrics.h"

#include <cmath>
#include <vector>

#include "core/numbers/statistics.h"
#include "core/result.h"

namespace sharewell::predict::learn {
namespace {

// f of each pair.
template <class F>
std::vector<double> Each(Numbers actual, Numbers predicted, const F& f) {
  SHAREWELL_CHECK(!actual.empty() && actual.size() == predicted.size());
  std::vector<double> out(actual.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(actual[i], predicted[i]);
  return out;
}

template <class F>
double MeanOf(Numbers actual, Numbers predicted, const F& f) {
  return *core::Mean(Each(actual, predicted, f));
}

double SquareError(double actual, double predicted) {
  return (predicted - actual) * (predicted - actual);
}

double PercentageError(double actual, double predicted) {
  return std::abs(predicted - actual) / std::abs(actual);
}

}  // namespace

double Rmse(Numbers actual, Numbers predicted) {
  return std::sqrt(MeanOf(actual, predicted, SquareError));
}

double MeanAbsoluteError(Numbers actual, Numbers predicted) {
  return MeanOf(actual, predicted, [](double a, double p) { return std::abs(p - a); });
}

double Rmsle(Numbers actual, Numbers predicted) {
  return std::sqrt(MeanOf(actual, predicted, [](double a, double p) {
    return SquareError(std::log1p(a), std::log1p(p));
  }));
}

double MeanAbsolutePercentageError(Numbers actual, Numbers predicted) {
  return MeanOf(actual, predicted, PercentageError);
}

double MedianAbsolutePercentageError(Numbers actual, Numbers predicted) {
  return *core::Quantile(Each(actual, predicted, PercentageError), 0.5);
}

core::Ratio Coverage(Numbers actual, Numbers upper) {
  return MeanOf(actual, upper, [](double a, double u) { return a <= u ? 1.0 : 0.0; });
}

core::Ratio IntervalCoverage(Numbers actual, Numbers lower, Numbers upper) {
  SHAREWELL_CHECK(lower.size() == actual.size() && upper.size() == actual.size());
  SHAREWELL_CHECK(!actual.empty());
  double inside = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    inside += lower[i] <= actual[i] && actual[i] <= upper[i] ? 1 : 0;
  }
  return inside / static_cast<double>(actual.size());
}

double MeanOverReservation(Numbers actual, Numbers upper) {
  return MeanOf(actual, upper, [](double a, double u) { return u / a - 1; });
}

}  // namespace sharewell::predict::learn
