// Standardises features: mean 0, standard deviation 1 over the rows learnt from. A value that is
// not known becomes the mean; a feature that never varied becomes 0.
#pragma once

#include <span>
#include <vector>

#include "predict/learn/table.h"

namespace sharewell::predict::learn {

struct Scaler {
  std::vector<double> means;
  std::vector<double> factors;  // 1 / standard deviation; 0 for a feature that never varied

  static Scaler Of(const Table& table);
  std::size_t columns() const { return means.size(); }
  // REQUIRES columns() values in `row` and in `out`.
  void Apply(std::span<const double> row, std::span<double> out) const;
  friend bool operator==(const Scaler&, const Scaler&) = default;
};

}  // namespace sharewell::predict::learn
