// Training: rows of measured workloads in, a predictor out. Pure and deterministic.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "predict/learn/judge/split.h"
#include "predict/learn/spec.h"
#include "predict/predictor.h"

namespace sharewell::predict {

// A workload that was measured alone.
struct Row {
  std::string workload, family, precision_word;
  Query query;        // its graph and GPU model must outlive the training
  Figures measured;   // busy and step seconds among them, or the row teaches nothing of time
  double weight = 1;  // below 1: a noisy window
};

// Predictions of rows that were not learnt from, one a row; unfilled where a row was never held
// out.
struct HeldOut {
  std::vector<std::optional<Figures>> of;
};

struct TrainOptions {
  std::string learner = "mean";  // a kind of learn::Kinds(), or "analytic": the base alone
  std::size_t folds = 10;        // families held out in turn, for the intervals
  // Choose each learner's own options by cross-validation over the families of the rows learnt
  // from, for the times and the busy share; about ten times as slow. "mean" has nothing to choose.
  bool search = false;
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // may be empty
  // Fit the base's rates to the rows learnt from (fit_rates.h), in every fold anew. False: those
  // built in, which have seen data/h200.
  bool refit = false;
  // What the base's times come from where it knows the operator; null: rates alone. In a fold it is
  // used without the cells that only families held out have brought.
  const OperatorTable* operators = nullptr;
};

core::Result<Predictor> Train(std::span<const Row> rows, const TrainOptions& options);

// Learns from each split's train rows and predicts its test rows.
core::Result<HeldOut> HoldOut(std::span<const Row> rows, std::span<const learn::Split> splits,
                              const TrainOptions& options);

}  // namespace sharewell::predict
