// What every learner begins with: the weighted mean of the targets.
#pragma once

#include <algorithm>

#include "predict/learn/table.h"

namespace sharewell::predict::learn {

// True where there is nothing to learn but one number.
inline bool ConstantTarget(const Table& table) {
  return std::all_of(table.targets.begin(), table.targets.end(),
                     [&](double target) { return target == table.targets.front(); });
}

// Exactly the target where that is constant.
inline double TargetMean(const Table& table) {
  if (ConstantTarget(table)) return table.targets.front();
  double sum = 0;
  double weight = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    sum += table.Weight(i) * table.targets[i];
    weight += table.Weight(i);
  }
  return sum / weight;
}

}  // namespace sharewell::predict::learn
