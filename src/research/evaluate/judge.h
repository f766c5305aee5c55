// Judging recommendations by sweeps that were really measured: what would have been chosen, beside
// the best cell that was found. Twice: from the sweep's own cells, as `recommend --measured`
// chooses; and from predictions alone, by a predictor that was trained without the workload's whole
// family.
//
// What is still seen: the rates of the predictor's base were fitted once to all of data/h200
// (docs/prediction.md).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "research/evaluate/judged_sweep.h"

namespace sharewell::research {

// The fewest cells that make a sweep.
inline constexpr std::size_t kFewestCells = 3;

struct JudgeAsk {
  std::vector<std::string> profiles;  // to train on; each row names its graph and family
  std::vector<std::string> sweeps;    // files of measured_cells.h; graphs are those of the profiles
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

// Sweeps are the cells of one file, workload, GPU model and sitting; of the profiles too. For
// throughput, and for energy where every cell's power draw is known. In the files' order. An error
// where none has a graph.
core::Result<std::vector<JudgedSweep>> Judge(const JudgeAsk& ask,
                                             const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::research
