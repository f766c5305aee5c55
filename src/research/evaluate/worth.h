// What each part of the predictor is worth: the errors with everything, and without one part, rates
// fitted in every fold anew. Plain data for reports.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/operator_table.h"
#include "research/evaluate/evaluation.h"
#include "research/train/training_rows.h"

namespace sharewell::research {

struct WorthErrors {
  double utilisation = 0;  // RMSLE
  double gpu_seconds = 0;  // a step; root mean square of the logarithm of predicted over measured
  double step_time = 0;    // mean absolute percentage error, as a ratio
  double memory = 0;       // the same, of GPU memory
};

struct WorthRow {
  std::string_view without;  // "", "operator table", "host probe", "learned residual", "all three"
  WorthErrors families, random;
};

struct Worth {
  std::size_t rows = 0, families = 0, folds = 0, cells = 0;
  std::vector<WorthRow> variants;  // the first has everything
};

// `operators` may be null: then it says nothing of the operator table.
core::Result<Worth> WorthOf(const TrainingSet& set, const predict::OperatorTable* operators,
                            std::size_t folds,
                            const std::function<void(std::size_t done, std::size_t of)>& progress);

}  // namespace sharewell::research
