// Evaluation: how far each learner is off on workloads that it did not learn from, by the procedure
// of Yeung et al.: rows are split, learnt from and predicted, learner after learner.
//
// A round holds each row out at most once: all families in turn, or one draw of a fifth of the
// rows. Errors are taken over a round and then averaged over the rounds. The bounds of a row come
// from what other rows were off by when they were held out in other folds (conformal.h), so that no
// bound has seen what it is judged on.
//
// Plain data for reports. The same rows give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/interval.h"
#include "core/result.h"
#include "research/train/training_rows.h"

namespace sharewell::research {

// What is held out: a fifth of the rows at random, whole model families, a whole GPU model.
enum class HoldBack { kRandom, kFamily, kGpu };
std::string_view NameOf(HoldBack split);                      // "random", "family", "gpu"
core::Result<HoldBack> ParseHoldBack(std::string_view text);  // an error lists them

// In the order of reports: the base alone, what it is corrected by, our default ("mean"), and Yeung
// et al.'s predictor, which tells the utilisation alone (predict/yeung.h has more of its learners,
// which are evaluated when they are asked for).
std::span<const std::string_view> EvaluatedLearners();

struct EvaluationOptions {
  HoldBack split = HoldBack::kFamily;
  std::size_t folds = 10;             // of families; how often to draw at random; not for GPUs
  std::vector<std::string> learners;  // empty: EvaluatedLearners()
  bool search = false;                // predict::TrainOptions::search, in every fold anew
  std::function<void(std::string_view learner, std::size_t done, std::size_t of)> progress;
  bool refit = false;                                 // predict::TrainOptions::refit
  const predict::OperatorTable* operators = nullptr;  // predict::TrainOptions::operators
};

// Ratios: 0.1 is ten percent. Absent where it means nothing: percentage errors of shares, which may
// be 0, and bounds where there is but one fold.
struct FigureErrors {
  std::string_view figure;
  std::size_t rows = 0;                     // over all rounds
  std::optional<double> rmsle, mae;         // shares, in percent points
  std::optional<double> mape, median_ape;   // all others
  std::optional<double> interval_coverage;  // share from p05 to p95
  std::optional<double> p95_coverage;       // share at or below p95
  std::optional<double> over_reservation;   // mean of p95 / actual - 1; not of shares
};

struct LearnerErrors {
  std::string learner;
  std::vector<FigureErrors> figures;  // those that some row measured

  const FigureErrors* Find(std::string_view figure) const;
};

struct EvaluatedRow {
  std::string workload, precision, gpu, family;
  std::int64_t batch = 0;
  int workers = 0;
};

struct HeldOutValue {
  std::size_t learner = 0;  // place in Evaluation::learners
  std::size_t row = 0;      // place in Evaluation::rows
  std::size_t fold = 0;     // counted through all rounds
  std::string_view figure;
  double actual = 0;
  core::Interval<> predicted;
};

struct FeatureShare {
  std::string feature;
  double share = 0;
};

// What the boosted learner's splits gained by each feature, largest first.
struct Importance {
  std::string_view figure;
  std::vector<FeatureShare> features;
};

struct Evaluation {
  HoldBack split = HoldBack::kFamily;
  std::size_t folds = 0;
  bool search = false;
  std::size_t families = 0, gpus = 0, without_graph = 0;
  std::size_t measured = 0;  // rows that `rows` are the medians of; 0: each is one
  std::vector<EvaluatedRow> rows;
  std::vector<LearnerErrors> learners;
  std::vector<HeldOutValue> values;
  std::vector<Importance> importance;  // empty without the boosted learner
};

// An error where a learner is not known, or the rows cannot be split so: one family, one GPU model.
core::Result<Evaluation> Evaluate(const TrainingSet& set, const EvaluationOptions& options);

}  // namespace sharewell::research
