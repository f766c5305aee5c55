// Tables with a known answer, for the tests of the learners.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "core/numbers/random.h"
#include "predict/learn/table.h"

namespace sharewell::predict::learn {

constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();

inline double Draw(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return core::Uniform(core::HashOf({seed, a, b}));
}

inline Table Named(std::size_t columns) {
  Table table;
  for (std::size_t f = 0; f < columns; ++f) table.features.push_back("f" + std::to_string(f));
  return table;
}

// Friedman's first function (1991) of the first five features, uniform in (0, 1), with noise of
// standard deviation 1, as a logarithm; the others are noise. With fewer than five columns the rest
// of the five is hidden from the learner. Groups: ten, in turn.
inline Table Friedman(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Table table = Named(columns);
  std::vector<double> x(std::max<std::size_t>(columns, 5));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t f = 0; f < x.size(); ++f) x[f] = Draw(seed, i, f);
    const double y = 10 * std::sin(std::numbers::pi * x[0] * x[1]) +
                     20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4] +
                     core::Normal(core::HashOf({seed, i, x.size()}));
    table.Add(std::span(x).first(columns), std::log(std::max(y, 0.5)),
              "g" + std::to_string(i % 10));
  }
  return table;
}

// One feature, 0 to n - 1.
template <class F>
Table Line(std::size_t n, const F& target) {
  Table table = Named(1);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i);
    table.Add(std::vector{x}, target(x));
  }
  return table;
}

}  // namespace sharewell::predict::learn
