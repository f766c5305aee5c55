// Beside Yeung et al.: the paper's predictor, by learner, and ours, on the same rows: RMSLE of GPU
// utilisation with a fifth of the rows held out at random, as the paper does it, and with whole
// model families held out, as its future work asks. One table from one run.
//
// What flatters ours: the rates of our base were fitted to all of data/h200 (docs/prediction.md).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "research/train/training_rows.h"

namespace sharewell::research {

struct BesideYeungOptions {
  std::size_t folds = 10;  // of families; how often a fifth is drawn at random
  std::function<void(std::string_view learner, std::size_t done, std::size_t of)> progress;
};

// RMSLE of log(1 + percent), as everywhere.
struct LearnerBesideYeung {
  std::string learner;          // as `sharewell-lab evaluate --learner` takes it
  std::optional<double> paper;  // as published, rows held out at random; its forest alone
  double random = 0, family = 0;
};

// One workload of the paper's figure 2b.
struct FlopsAndUtilisation {
  std::string workload, family;  // "tv:resnet50@224 batch 64 bf16"
  double flops = 0;              // of a forward pass
  double utilisation = 0;        // 0 to 1, measured alone
};

struct BesideYeung {
  std::size_t rows = 0, families = 0, folds = 0;
  std::vector<LearnerBesideYeung> learners;  // the paper's in its order, then ours
  std::vector<FlopsAndUtilisation> workloads;

  const LearnerBesideYeung* Find(std::string_view learner) const;
};

// The paper's learners choose their options by cross-validation in every fold, as the paper does;
// ours have nothing to choose. Fails as Evaluate does.
core::Result<BesideYeung> CompareWithYeung(const TrainingSet& set,
                                           const BesideYeungOptions& options = {});

}  // namespace sharewell::research
