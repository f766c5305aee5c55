// Choosing one cell among many of one GPU model, for a goal. Pure.
//
//   1. What was measured is smoothed: on a curve over cores (same precision, batch and source,
//   three
//      points and more) the nearest curve of knee.h stands for the rates.
//   2. A prediction must promise 5 % more than the best measured cell, or it is not looked at; and
//      where such a curve was measured, no prediction of that precision and batch is.
//   3. A lower precision must promise 5 % more than a higher one, or the higher stays; but 2. holds
//      between precisions, too.
//   4. Of the cells that keep 97 % of the best: the smallest batch, then the fewest cores, then the
//      fewest loader workers. 3 % is what repeats of one cell differ by (knee.h).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "advice/recommend/cell.h"

namespace sharewell::advice::recommend {

inline constexpr double kKeeps = 0.97;
// What a prediction must promise above a measurement, and a lower precision above a higher one.
inline constexpr double kWorthIt = 1.05;

struct Chosen {
  std::size_t at = 0;    // place in the cells
  std::size_t best = 0;  // the one with the largest merit of the same precision and kind of source
  double keeps = 1;      // merit of `at` over that of `best`, smoothed: kKeeps..1
};

// None where no cell has a merit for the goal. REQUIRES: cells of one GPU model.
std::optional<Chosen> Choose(std::span<const Cell> cells, Goal goal, const Prices& prices);

// Samples a second, smoothed as in 1., in the cells' order.
std::vector<double> Smoothed(std::span<const Cell> cells);

}  // namespace sharewell::advice::recommend
