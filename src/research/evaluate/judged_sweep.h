// How near a recommendation came to the best cell of a sweep that was measured. Plain data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "advice/recommend/cell.h"

namespace sharewell::research {

struct JudgedSweep {
  std::string workload, from, sitting;
  advice::recommend::Goal goal = advice::recommend::Goal::kThroughput;
  std::size_t cells = 0;
  // The cell with the largest measured merit; chosen from the sweep's own cells; and chosen from
  // predictions by a predictor without the workload's whole family.
  advice::recommend::Setting best, curve, foretold;
  // Measured merit of the chosen cell over the best one's: 1 is the best.
  double curve_share = 0, foretold_share = 0;
  // The same of what one would do without a recommendation: on average over all cells, and the most
  // of everything (cores, then workers, then batch).
  double average_share = 0, most_share = 0;
  double most_cores = 0;  // 0: it is no sweep over cores
  // Cells whose measured samples a second lie within the predicted bounds.
  std::size_t in_bounds = 0;
};

}  // namespace sharewell::research
