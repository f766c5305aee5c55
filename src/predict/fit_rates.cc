#include "predict/fit_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "predict/learn/gaussian/cholesky.h"

namespace sharewell::predict {
namespace {

constexpr double kGpuPull = 0.3, kHostPull = 0.1;
// The table was measured; what a loop makes of it is near to one.
constexpr double kTablePull = 0.4;
constexpr double kGpuSoft = 0.15, kHostSoft = 0.2;
constexpr double kFarthest = 4;  // below the plausible value, as a logarithm
constexpr int kRounds = 25;
constexpr double kStep = 1e-4;

// Least squares over logarithms of rates, by Levenberg and Marquardt, with the soft loss
// 2 (sqrt(1 + r^2) - 1) of every residual, pulls included.
class Fit {
 public:
  // The residuals by the rates as they are. Given a class, only rates of that class have changed
  // since it was last called without.
  using Residuals = std::function<std::vector<double>(std::optional<OpClass>)>;
  Fit(Rates& rates, bool host, double soft, Residuals residuals)
      : soft_(soft), residuals_(std::move(residuals)) {
    for (const Rate& rate : RatesOf(rates)) {
      if (rate.host != host) continue;
      const bool table = rate.name.find("_table") != std::string::npos;
      values_.push_back(rate.value);
      of_.push_back(rate.of == OpClass::kNone ? std::nullopt : std::optional(rate.of));
      top_.push_back(std::log(rate.most));
      start_.push_back(std::min(std::log(*rate.value), top_.back() - 1e-3));
      pull_.push_back(host ? kHostPull : table ? kTablePull : kGpuPull);
    }
    place_ = start_;
    Put(place_);
  }

  void Run() {
    const std::size_t n = place_.size();
    std::vector<double> now = All(place_);
    double loss = Loss(now);
    double damping = 1e-2;
    for (int round = 0; round < kRounds; ++round) {
      // The slope of every residual, one rate after the other.
      std::vector<std::vector<double>> slopes(n);
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> moved = place_;
        const double step = moved[i] + kStep <= top_[i] ? kStep : -kStep;
        moved[i] += step;
        slopes[i] = All(moved, of_[i]);
        for (std::size_t k = 0; k < now.size(); ++k) {
          slopes[i][k] = (slopes[i][k] - now[k]) / step * std::sqrt(WeightOf(now[k]));
        }
      }
      std::vector<double> weighted = now;
      for (double& r : weighted) r *= std::sqrt(WeightOf(r));
      std::vector<double> squares(n * n), toward(n);
      for (std::size_t i = 0; i < n; ++i) {
        toward[i] = -learn::Dot(slopes[i].data(), weighted.data(), weighted.size());
        for (std::size_t j = 0; j <= i; ++j) {
          squares[i * n + j] = squares[j * n + i] =
              learn::Dot(slopes[i].data(), slopes[j].data(), weighted.size());
        }
      }
      bool better = false;
      for (int attempt = 0; attempt < 8 && !better; ++attempt, damping *= 4) {
        std::vector<double> factor = squares;
        for (std::size_t i = 0; i < n; ++i) factor[i * n + i] *= 1 + damping;
        std::vector<double> move = toward;
        if (!learn::Factorise(factor, n)) continue;
        learn::SolveFactored(factor, n, move);
        std::vector<double> moved = place_;
        for (std::size_t i = 0; i < n; ++i) {
          moved[i] =
              std::clamp(moved[i] + std::clamp(move[i], -1.0, 1.0), start_[i] - kFarthest, top_[i]);
        }
        std::vector<double> then = All(moved);
        const double found = Loss(then);
        if (!(found < loss)) continue;
        better = true;
        const bool little = loss - found < 1e-5 * loss;
        place_ = std::move(moved);
        now = std::move(then);
        loss = found;
        damping /= 40;
        if (little) round = kRounds;
      }
      if (!better) break;
    }
    Put(place_);
  }

 private:
  void Put(const std::vector<double>& place) {
    for (std::size_t i = 0; i < place.size(); ++i) *values_[i] = std::exp(place[i]);
  }
  std::vector<double> All(const std::vector<double>& place,
                          std::optional<OpClass> changed = std::nullopt) {
    Put(place);
    std::vector<double> out = residuals_(changed);
    for (std::size_t i = 0; i < place.size(); ++i) {
      out.push_back(pull_[i] * (place[i] - start_[i]));
    }
    return out;
  }
  double WeightOf(double r) const { return 1 / std::sqrt(1 + r * r / (soft_ * soft_)); }
  double Loss(const std::vector<double>& residuals) const {
    double sum = 0;
    for (const double r : residuals) {
      sum += 2 * soft_ * soft_ * (std::sqrt(1 + r * r / (soft_ * soft_)) - 1);
    }
    return sum;
  }

  double soft_;
  Residuals residuals_;
  std::vector<double*> values_;
  std::vector<std::optional<OpClass>> of_;
  std::vector<double> top_, start_, pull_, place_;
};

// The GPU's seconds of each step, class by class: what did not change is not added up again.
class GpuSeconds {
 public:
  GpuSeconds(std::span<const MeasuredStep> steps, const Rates& rates)
      : steps_(steps), rates_(rates), parts_(steps.size()) {}

  double Of(std::size_t step, std::optional<OpClass> changed) {
    const StepWork& work = *steps_[step].work;
    std::array<double, kOpClasses>& parts = parts_[step];
    double sum = work.GpuRest(rates_);
    for (std::size_t c = 0; c < kOpClasses; ++c) {
      const auto of = static_cast<OpClass>(c);
      if (!changed) parts[c] = work.GpuOf(of, rates_);
      sum += changed == of ? work.GpuOf(of, rates_) : parts[c];
    }
    return sum;
  }

 private:
  std::span<const MeasuredStep> steps_;
  const Rates& rates_;
  std::vector<std::array<double, kOpClasses>> parts_;
};

}  // namespace

Rates FitRates(std::span<const MeasuredStep> steps) {
  Rates rates = PlausibleRates();
  GpuSeconds gpu(steps, rates);
  Fit(rates, false, kGpuSoft, [&](std::optional<OpClass> changed) {
    std::vector<double> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].busy > 0) out.push_back(std::log(gpu.Of(i, changed) / steps[i].busy));
    }
    return out;
  }).Run();
  Fit(rates, true, kHostSoft, [&](std::optional<OpClass>) {
    std::vector<double> out;
    for (const MeasuredStep& step : steps) {
      if (!(step.busy > 0) || !(step.step > 0)) continue;
      out.push_back(std::log(step.work->Step(rates, step.busy) / step.step) * step.trust);
    }
    return out;
  }).Run();
  return rates;
}

}  // namespace sharewell::predict
