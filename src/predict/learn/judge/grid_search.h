// Chooses between learner specs by cross-validation: each is fitted on the train rows of every fold
// and judged on the rows held out.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/result.h"
#include "predict/learn/judge/split.h"
#include "predict/learn/model.h"
#include "predict/learn/spec.h"
#include "predict/learn/table.h"

namespace sharewell::predict::learn {

// What was said of a row by regressors that had not seen it.
struct HeldOut {
  std::vector<double> predictions;  // by row; NaN for a row no fold holds out
  std::vector<double> spreads;      // Regressor::Spread, likewise; NaN too where there is none
};

struct Choice {
  std::size_t best = 0;        // the spec with the lowest error; ties: the first
  std::vector<double> errors;  // by spec: root mean square error, weighted, over rows held out
  HeldOut held_out;            // of the best
};

// REQUIRES folds of this table's rows that hold each row out at most once. Fails as Fit does.
core::Result<HeldOut> PredictHeldOut(const LearnerSpec& spec, const Table& table,
                                     std::span<const Split> folds);

// REQUIRES the same, and at least one row that is held out; an error where there is no spec.
core::Result<Choice> GridSearch(std::span<const LearnerSpec> specs, const Table& table,
                                std::span<const Split> folds);

}  // namespace sharewell::predict::learn
