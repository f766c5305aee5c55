#include "interference/fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/result.h"

namespace sharewell::interference {
namespace {

using core::Ratio;

// What is fitted, and the value it is pulled towards.
struct Free {
  double Coefficients::*member;
  double towards;
};
constexpr std::array kFree = {
    Free{&Coefficients::host, 0.03}, Free{&Coefficients::neighbour, 0.09},
    Free{&Coefficients::dram, 0.5},  Free{&Coefficients::wait, 1.5},
    Free{&Coefficients::length, 1},  Free{&Coefficients::narrow, 0.85},
    Free{&Coefficients::room, 16},
};
constexpr std::size_t kSize = kFree.size();
constexpr double kPull = 0.3;    // of one e-fold, against one speed that is kScale off
constexpr double kScale = 0.05;  // of speeds: about what one measurement errs by
constexpr double kFarthest = 3;  // e-folds from the plausible value
constexpr double kDifference = 1e-4;
constexpr int kMostSteps = 100;
constexpr double kEnough = 1e-7;  // of the sum: a smaller gain ends it

using Point = std::array<double, kSize>;  // logarithms

double Towards(std::size_t k) { return std::log(kFree[k].towards); }

Coefficients At(const Point& point) {
  Coefficients out;
  for (std::size_t k = 0; k < kSize; ++k) out.*kFree[k].member = std::exp(point[k]);
  return out;
}

// Model minus measured, of every speed, in kScale.
std::vector<double> Errors(std::span<const MeasuredSpeeds> measured, const Point& point) {
  const Interference model({}, At(point));
  std::vector<double> out;
  for (const MeasuredSpeeds& group : measured) {
    for (std::size_t i = 0; i < group.residents.size(); ++i) {
      const double speed = model.Speed(core::GpuModelId(), group.residents, i);
      out.push_back((speed - std::min(group.speeds[i], 1.0)) / kScale);
    }
  }
  return out;
}

double Sum(const std::vector<double>& errors, const Point& point) {
  double sum = 0;
  for (const double e : errors) sum += 2 * (std::sqrt(1 + e * e) - 1);
  for (std::size_t k = 0; k < kSize; ++k) {
    sum += kPull * kPull * (point[k] - Towards(k)) * (point[k] - Towards(k));
  }
  return sum;
}

using Matrix = std::array<std::array<double, kSize + 1>, kSize>;

// Gauss' elimination; the matrix is a covariance with something added to its diagonal.
Point Solved(Matrix m) {
  for (std::size_t k = 0; k < kSize; ++k) {
    std::size_t best = k;
    for (std::size_t r = k + 1; r < kSize; ++r) {
      if (std::abs(m[r][k]) > std::abs(m[best][k])) best = r;
    }
    std::swap(m[k], m[best]);
    for (std::size_t r = k + 1; r < kSize; ++r) {
      const double factor = m[r][k] / m[k][k];
      for (std::size_t c = k; c <= kSize; ++c) m[r][c] -= factor * m[k][c];
    }
  }
  Point out{};
  for (std::size_t k = kSize; k-- > 0;) {
    double rest = m[k][kSize];
    for (std::size_t c = k + 1; c < kSize; ++c) rest -= m[k][c] * out[c];
    out[k] = rest / m[k][k];
  }
  return out;
}

// The normal equations of the softened sum around `point`.
Matrix Equations(std::span<const MeasuredSpeeds> measured, const Point& point,
                 const std::vector<double>& errors) {
  std::array<std::vector<double>, kSize> slopes;
  for (std::size_t k = 0; k < kSize; ++k) {
    Point moved = point;
    moved[k] += kDifference;
    slopes[k] = Errors(measured, moved);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      slopes[k][i] = (slopes[k][i] - errors[i]) / kDifference;
    }
  }
  Matrix m{};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double weight = 1 / std::sqrt(1 + errors[i] * errors[i]);
    for (std::size_t r = 0; r < kSize; ++r) {
      for (std::size_t c = 0; c < kSize; ++c) m[r][c] += weight * slopes[r][i] * slopes[c][i];
      m[r][kSize] -= weight * slopes[r][i] * errors[i];
    }
  }
  for (std::size_t k = 0; k < kSize; ++k) {
    m[k][k] += kPull * kPull;
    m[k][kSize] -= kPull * kPull * (point[k] - Towards(k));
  }
  return m;
}

// To four digits.
double Rounded(double value) {
  if (!(value > 0)) return 0;
  const double size = std::pow(10, 3 - std::floor(std::log10(value)));
  return std::round(value * size) / size;
}

// Deviation of log(measured / model) over groups of so many.
double Residual(std::span<const MeasuredSpeeds> measured, const Coefficients& coefficients,
                bool of_two, double otherwise) {
  const Interference model({}, coefficients);
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const MeasuredSpeeds& group : measured) {
    if (group.residents.size() < 2 || (group.residents.size() == 2) != of_two) continue;
    for (std::size_t i = 0; i < group.residents.size(); ++i) {
      const double speed = std::clamp(group.speeds[i], kSlowest, 1.0);
      const double error = std::log(speed / model.Speed(core::GpuModelId(), group.residents, i));
      sum += error;
      squares += error * error;
      count += 1;
    }
  }
  if (count < 2) return otherwise;
  return Rounded(std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count))));
}

}  // namespace

Coefficients Fit(std::span<const MeasuredSpeeds> measured) {
  for (const MeasuredSpeeds& group : measured) {
    SHAREWELL_CHECK(group.residents.size() == group.speeds.size());
  }
  Point point{};
  for (std::size_t k = 0; k < kSize; ++k) point[k] = Towards(k);
  auto errors = Errors(measured, point);
  double sum = Sum(errors, point);
  double damping = 1e-2;
  for (int step = 0; step < kMostSteps && damping < 1e8; ++step) {
    const Matrix equations = Equations(measured, point, errors);
    bool better = false;
    while (!better && damping < 1e8) {
      Matrix damped = equations;
      for (std::size_t k = 0; k < kSize; ++k) damped[k][k] *= 1 + damping;
      const Point way = Solved(damped);
      Point next = point;
      for (std::size_t k = 0; k < kSize; ++k) {
        next[k] = std::clamp(point[k] + way[k], Towards(k) - kFarthest, Towards(k) + kFarthest);
      }
      auto then = Errors(measured, next);
      const double after = Sum(then, next);
      better = after < sum;
      if (!better) {
        damping *= 4;
        continue;
      }
      const bool enough = sum - after < kEnough * sum;
      point = next;
      errors = std::move(then);
      sum = after;
      damping = std::max(damping / 3, 1e-9);
      if (enough) damping = 1e9;
    }
  }
  Coefficients out = At(point);
  for (const Free& free : kFree) out.*free.member = Rounded(out.*free.member);
  const Coefficients usual;
  out.residual = Residual(measured, out, true, usual.residual);
  out.residual_of_three = Residual(measured, out, false, usual.residual_of_three);
  return out;
}

}  // namespace sharewell::interference
