// What a learner learns from: rows of features with a target, and optionally a weight and a group
// each. A value; nothing here changes what a row means.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::predict::learn {

constexpr std::size_t kMostFeatures = 10'000;

struct Table {
  std::vector<std::string> features;  // names of the columns
  std::vector<double> values;         // row after row; NaN: not known
  std::vector<double> targets;        // one a row
  std::vector<double> weights;        // one a row, above 0; empty: all 1
  std::vector<std::string> groups;    // one a row (a model family, say); empty: none

  std::size_t rows() const { return targets.size(); }
  std::size_t columns() const { return features.size(); }
  std::span<const double> Row(std::size_t i) const {
    return std::span<const double>(values).subspan(i * columns(), columns());
  }
  double Weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }

  // REQUIRES as many values as features, and a group in every row or in none.
  void Add(std::span<const double> row, double target, std::string group = "");

  // The rows asked for, in that order; one may be asked for twice. REQUIRES each below rows().
  Table Subset(std::span<const std::size_t> wanted) const;

  // An error that names the first row a learner could not use: sizes that differ, a target that is
  // no finite number, an infinite feature, a weight that is not above 0. No rows, no features or
  // more than kMostFeatures are an error too.
  core::Result<void> Check() const;

  friend bool operator==(const Table&, const Table&) = default;
};

}  // namespace sharewell::predict::learn
