#include "predict/learn/gaussian/gaussian_tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "predict/learn/gaussian/cholesky.h"
#include "predict/learn/portable_exp.h"
#include "predict/learn/sample.h"

namespace sharewell::predict::learn {
namespace {

constexpr double kLengths[] = {0.25, 0.5, 1, 2, 4, 8, 16, 32};  // in median distances
constexpr double kNoises[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1};
constexpr double kFirstLength = 2;
constexpr std::size_t kFirstNoise = 4;

// Of the gradient ascent (Rprop: Riedmiller and Braun, 1993; its signs need no step search).
constexpr int kSteps = 40;
constexpr double kFirstStep = 0.2;
constexpr double kLeastStep = 1e-3;
constexpr double kLargestStep = 1;
constexpr double kFaster = 1.2;
constexpr double kSlower = 0.5;
// Logarithms of the features' factors stay near the common one unless the rows say otherwise: a
// normal prior of this standard deviation, and hard limits.
constexpr double kPriorDeviation = 2;
constexpr double kLowest = -8;
constexpr double kHighest = 4;

// The rows tuning looks at.
struct Rows {
  Kernel kernel;
  std::size_t n;
  std::size_t p;
  std::vector<double> z;  // standardised
  std::vector<double> targets;
  std::vector<double> weights;

  // Of rows i and j, each feature's square times its factor.
  double Square(std::size_t i, std::size_t j, const std::vector<double>& factors) const {
    double sum = 0;
    for (std::size_t f = 0; f < p; ++f) {
      const double d = z[i * p + f] - z[j * p + f];
      sum += factors[f] * (d * d);
    }
    return sum;
  }
};

// Squared distances between all rows, in the lower triangle.
std::vector<double> Squares(const Rows& rows, const std::vector<double>& factors) {
  std::vector<double> out(rows.n * rows.n);
  for (std::size_t i = 0; i < rows.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) out[i * rows.n + j] = rows.Square(i, j, factors);
  }
  return out;
}

struct LeaveOneOut {
  double error;   // mean square
  double signal;  // variance that makes the errors as large as they are expected to be
};

// Absent where the matrix is not positive definite.
std::optional<LeaveOneOut> Judge(const Rows& rows, const std::vector<double>& alike, double noise) {
  const std::size_t n = rows.n;
  std::vector<double> factor = alike;
  for (std::size_t i = 0; i < n; ++i) factor[i * n + i] = 1 + noise / rows.weights[i];
  if (!Factorise(factor, n)) return std::nullopt;
  std::vector<double> alpha = rows.targets;
  SolveFactored(factor, n, alpha);
  const auto inverse = InvertFactor(factor, n);
  double error = 0;
  double signal = 0;
  double weight = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double precision = Dot(&inverse[i * n + i], &inverse[i * n + i], n - i);
    const double residual = alpha[i] / precision;
    error += rows.weights[i] * residual * residual;
    signal += rows.weights[i] * alpha[i] * residual;
    weight += rows.weights[i];
  }
  return LeaveOneOut{error / weight, signal / weight};
}

std::vector<double> AlikeOf(const Rows& rows, const std::vector<double>& squares, double scale) {
  std::vector<double> out(squares.size());
  for (std::size_t i = 0; i < rows.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      out[i * rows.n + j] = Alike(rows.kernel, scale * squares[i * rows.n + j]);
    }
  }
  return out;
}

double MedianSquare(const Rows& rows, const std::vector<double>& squares) {
  std::vector<double> all;
  for (std::size_t i = 0; i < rows.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (squares[i * rows.n + j] > 0) all.push_back(squares[i * rows.n + j]);
    }
  }
  if (all.empty()) return 1;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// Gradient of the log marginal likelihood, its signal profiled out, by the logarithm of each
// feature's factor and (last) of the noise. Empty where the matrix is not positive definite.
std::vector<double> Gradient(const Rows& rows, const std::vector<double>& factors, double noise) {
  const std::size_t n = rows.n;
  const auto squares = Squares(rows, factors);
  auto factor = AlikeOf(rows, squares, 1);
  for (std::size_t i = 0; i < n; ++i) factor[i * n + i] = 1 + noise / rows.weights[i];
  if (!Factorise(factor, n)) return {};
  std::vector<double> alpha = rows.targets;
  SolveFactored(factor, n, alpha);
  const double signal = Dot(alpha.data(), rows.targets.data(), n) / static_cast<double>(n);
  if (!(signal > 0)) return {};
  const auto inverse = InvertFactor(factor, n);
  std::vector<double> out(rows.p + 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double precision = Dot(&inverse[i * n + i], &inverse[j * n + i], n - i);
      const double pull = alpha[i] * alpha[j] / signal - precision;
      if (i == j) {
        out[rows.p] += pull * noise / rows.weights[i] / 2;
        continue;
      }
      const double by_square = pull * AlikeSlope(rows.kernel, squares[i * n + j]);
      for (std::size_t f = 0; f < rows.p; ++f) {
        const double d = rows.z[i * rows.p + f] - rows.z[j * rows.p + f];
        out[f] += by_square * factors[f] * (d * d);
      }
    }
  }
  return out;
}

struct Lengths {
  std::vector<double> factors;  // 1 / length^2, by feature
  double noise;
};

// From a common length to one a feature.
Lengths Relevance(const Rows& rows, const Lengths& start, bool tune_noise) {
  Lengths now = start;
  std::vector<double> moved(rows.p + 1);  // logarithm of now / start
  std::vector<double> step(rows.p + 1, kFirstStep);
  std::vector<double> before(rows.p + 1);
  for (int round = 0; round < kSteps; ++round) {
    const auto gradient = Gradient(rows, now.factors, now.noise);
    if (gradient.empty()) break;
    for (std::size_t f = 0; f <= rows.p; ++f) {
      if (f == rows.p && !tune_noise) continue;
      const double slope = gradient[f] - moved[f] / (kPriorDeviation * kPriorDeviation);
      const double agree = slope * before[f];
      if (agree > 0) step[f] = std::min(step[f] * kFaster, kLargestStep);
      if (agree < 0) step[f] = std::max(step[f] * kSlower, kLeastStep);
      before[f] = agree < 0 ? 0 : slope;
      if (slope != 0) moved[f] += slope > 0 ? step[f] : -step[f];
      moved[f] = std::clamp(moved[f], kLowest, kHighest);
      (f == rows.p ? now.noise : now.factors[f]) =
          (f == rows.p ? start.noise : start.factors[f]) * PortableExp(moved[f]);
    }
    now.noise = std::max(now.noise, kNoises[0]);
  }
  return now;
}

// Where the search for relevance begins. Not at the best common length: with many features that is
// often so long that the answer is a plane, from which the gradient does not find back.
Lengths Start(const Rows& rows, const GaussianOptions& options) {
  const double median = MedianSquare(rows, Squares(rows, std::vector<double>(rows.p, 1)));
  const double length = options.length > 0 ? options.length : kFirstLength;
  return {std::vector<double>(rows.p, 1 / (length * length * median)),
          options.noise > 0 ? options.noise : kNoises[kFirstNoise]};
}

Rows Drawn(const GaussianOptions& options, const GaussianState& state) {
  Rows rows{state.kernel, 0, state.scaler.columns(), {}, {}, {}};
  for (std::size_t i : Sample(state.targets.size(), options.tuned_rows, options.seed)) {
    const auto begin = state.rows.begin() + static_cast<std::ptrdiff_t>(i * rows.p);
    rows.z.insert(rows.z.end(), begin, begin + static_cast<std::ptrdiff_t>(rows.p));
    rows.targets.push_back(state.targets[i]);
    rows.weights.push_back(state.weights[i]);
    ++rows.n;
  }
  return rows;
}

struct Chosen {
  Lengths lengths{};
  LeaveOneOut judged{std::numeric_limits<double>::infinity(), 0};
};

// A common length and noise: for each length the noise at which the error is least, looked for
// downhill from the last length's, because the two move together.
Chosen Common(const Rows& rows, const GaussianOptions& options) {
  const auto squares = Squares(rows, std::vector<double>(rows.p, 1));
  const double median = MedianSquare(rows, squares);
  std::vector<double> lengths(std::begin(kLengths), std::end(kLengths));
  if (options.length > 0) lengths = {options.length};
  std::vector<double> noises(std::begin(kNoises), std::end(kNoises));
  if (options.noise > 0) noises = {options.noise};

  Chosen best{{std::vector<double>(rows.p, 1 / median), noises.back()}};
  std::size_t at = std::min(kFirstNoise, noises.size() - 1);
  for (double length : lengths) {
    const double scale = 1 / (length * length * median);
    const auto alike = AlikeOf(rows, squares, scale);
    std::vector<std::optional<LeaveOneOut>> known(noises.size());
    const auto error = [&](std::size_t i) {
      if (!known[i]) known[i] = Judge(rows, alike, noises[i]);
      return known[i] ? known[i]->error : std::numeric_limits<double>::infinity();
    };
    while (at + 1 < noises.size() && !(error(at) <= error(at + 1))) ++at;
    while (at > 0 && error(at - 1) < error(at)) --at;
    if (error(at) < best.judged.error) {
      best = {{std::vector<double>(rows.p, scale), noises[at]}, *known[at]};
    }
  }
  return best;
}

}  // namespace

void Tune(const GaussianOptions& options, GaussianState& state) {
  const Rows rows = Drawn(options, state);
  Chosen chosen = Common(rows, options);
  if (options.ard) {
    Lengths each = Relevance(rows, Start(rows, options), options.noise <= 0);
    const auto judged = Judge(rows, AlikeOf(rows, Squares(rows, each.factors), 1), each.noise);
    if (judged && judged->error < chosen.judged.error) chosen = {std::move(each), *judged};
  }
  state.noise = chosen.lengths.noise;
  state.signal = chosen.judged.signal;
  state.inverse_lengths.clear();
  for (double factor : chosen.lengths.factors) state.inverse_lengths.push_back(std::sqrt(factor));
}

}  // namespace sharewell::predict::learn
