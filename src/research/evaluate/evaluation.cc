#include "research/evaluate/evaluation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/numbers/statistics.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "predict/learn/judge/conformal.h"
#include "predict/learn/judge/metrics.h"
#include "predict/learn/judge/split.h"
#include "predict/yeung.h"

namespace sharewell::research {
namespace {

using predict::Figure;
using predict::learn::Split;
using Round = std::vector<Split>;

constexpr std::array<std::string_view, 8> kLearners = {
    "yeung-forest", "analytic", "linear", "forest", "extra", "boosted", "gaussian", "mean"};
constexpr std::array<std::string_view, 3> kSplits = {"random", "family", "gpu"};
constexpr double kHeldOutAtRandom = 0.2;
constexpr std::array kImportanceOf = {Figure::kBusySeconds, Figure::kStepSeconds, Figure::kMemory};

core::Result<std::vector<Round>> RoundsOf(const std::vector<predict::Row>& rows,
                                          const EvaluationOptions& options) {
  std::vector<std::string> groups;
  for (const predict::Row& row : rows) {
    groups.push_back(options.split == HoldBack::kGpu ? row.query.gpu->name : row.family);
  }
  const std::size_t distinct = std::set<std::string>(groups.begin(), groups.end()).size();
  std::vector<Round> rounds;
  switch (options.split) {
    case HoldBack::kRandom:
      if (rows.size() < 2) break;
      for (std::size_t k = 0; k < options.folds; ++k) {
        rounds.push_back({predict::learn::ShuffledSplit(rows.size(), kHeldOutAtRandom, k + 1)});
      }
      return rounds;
    case HoldBack::kFamily:
      if (distinct < 2) {
        return core::UsageError(
            "all {} workloads are of one model family, so none can be held out; give profiles of "
            "more families, or split at random",
            rows.size());
      }
      rounds.push_back(predict::learn::GroupFolds(groups, std::max<std::size_t>(2, options.folds)));
      return rounds;
    case HoldBack::kGpu:
      if (distinct < 2) {
        return core::UsageError(
            "holding a GPU model out needs profiles of two at least, and these are all of {}; give "
            "profiles of another GPU model too, or split by family",
            groups.empty() ? "none" : groups[0]);
      }
      rounds.push_back(predict::learn::LeaveOneGroupOut(groups));
      return rounds;
  }
  return core::UsageError("{} workloads are too few to hold some out", rows.size());
}

// One learner's predictions of one figure, and where they were made.
struct Held {
  std::size_t row, fold, round;
  double actual;
  core::Interval<> predicted;
};

class Evaluator {
 public:
  Evaluator(const std::vector<predict::Row>& rows, const std::vector<Round>& rounds)
      : rows_(rows), rounds_(rounds) {
    for (const Round& round : rounds) {
      for (const Split& split : round) folds_.push_back(&split);
    }
  }

  std::size_t folds() const { return folds_.size(); }

  core::Result<LearnerErrors> Run(std::size_t learner, predict::TrainOptions options,
                                  const std::function<void(std::size_t)>& progress,
                                  std::vector<HeldOutValue>& values) const {
    std::vector<predict::HeldOut> held_out;
    std::size_t before = 0;
    for (const Round& round : rounds_) {
      options.progress = [&](std::size_t done, std::size_t) { progress(before + done); };
      auto predictions = HoldOut(round, options);
      if (!predictions)
        return tl::unexpected(std::move(predictions.error()).Within(options.learner));
      held_out.push_back(std::move(*predictions));
      before += round.size();
    }
    LearnerErrors errors{options.learner, {}};
    for (std::size_t f = 0; f < predict::kFigures; ++f) {
      const auto figure = static_cast<Figure>(f);
      std::vector<Held> held = Gather(figure, held_out);
      if (held.empty()) continue;
      RETURN_IF_ERROR(Bound(figure, held));
      errors.figures.push_back(ErrorsOf(figure, held));
      for (const Held& h : held) {
        values.push_back({learner, h.row, h.fold, NameOf(figure), h.actual, h.predicted});
      }
    }
    return errors;
  }

 private:
  core::Result<predict::HeldOut> HoldOut(const Round& round,
                                         const predict::TrainOptions& options) const {
    if (!predict::IsYeungLearner(options.learner)) return predict::HoldOut(rows_, round, options);
    return predict::HoldOutYeung(rows_, round, {options.learner, options.search, options.progress});
  }

  std::vector<Held> Gather(Figure figure, const std::vector<predict::HeldOut>& held_out) const {
    std::vector<Held> out;
    std::size_t fold = 0;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      for (const Split& split : rounds_[r]) {
        for (const std::size_t i : split.test) {
          const auto& actual = rows_[i].measured[Index(figure)];
          if (!actual || !held_out[r].of[i]) continue;
          // Yeung et al.'s learners tell the utilisation alone.
          const auto& predicted = (*held_out[r].of[i])[Index(figure)];
          if (!predicted) continue;
          out.push_back({i, fold, r, *actual, core::Interval<>::Unbounded(*predicted)});
        }
        ++fold;
      }
    }
    return out;
  }

  // For each fold, offsets from the other folds, without the rows that this one holds out.
  core::Result<void> Bound(Figure figure, std::vector<Held>& held) const {
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const auto& test = folds_[k]->test;
      std::vector<predict::learn::Residual> residuals;
      for (const Held& h : held) {
        if (h.fold == k || std::binary_search(test.begin(), test.end(), h.row)) continue;
        residuals.push_back(
            {ToScale(figure, h.actual) - ToScale(figure, h.predicted.median), "", 1});
      }
      if (residuals.empty()) continue;
      const auto interval = predict::learn::Calibrate(residuals, {.by_family = false});
      RETURN_IF_ERROR(interval);
      // As the predictor has it: bounds never exclude the prediction itself.
      const double low = std::min(0.0, interval->Offset(0, ""));
      const double high = std::max(0.0, interval->Offset(2, ""));
      for (Held& h : held) {
        if (h.fold != k) continue;
        h.predicted.low = FromScale(figure, ToScale(figure, h.predicted.median) + low);
        h.predicted.high = FromScale(figure, ToScale(figure, h.predicted.median) + high);
      }
    }
    return {};
  }

  FigureErrors ErrorsOf(Figure figure, const std::vector<Held>& held) const {
    const bool share = IsShare(figure);
    const double unit = share ? 100 : 1;
    std::vector<double> rmsle, mae, mape, median, interval, p95, over;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      std::vector<double> actual, predicted, bounded, low, high;
      for (const Held& h : held) {
        if (h.round != r) continue;
        // A meter may show 100.2 %; no bound goes there.
        actual.push_back(unit * (share ? std::min(1.0, h.actual) : h.actual));
        predicted.push_back(unit * h.predicted.median);
        if (!h.predicted.IsBounded()) continue;
        bounded.push_back(actual.back());
        low.push_back(unit * h.predicted.low);
        high.push_back(unit * h.predicted.high);
      }
      if (actual.empty()) continue;
      namespace learn = predict::learn;
      if (share) {
        rmsle.push_back(learn::Rmsle(actual, predicted));
        mae.push_back(learn::MeanAbsoluteError(actual, predicted));
      } else {
        mape.push_back(learn::MeanAbsolutePercentageError(actual, predicted));
        median.push_back(learn::MedianAbsolutePercentageError(actual, predicted));
      }
      if (bounded.empty()) continue;
      interval.push_back(learn::IntervalCoverage(bounded, low, high));
      p95.push_back(learn::Coverage(bounded, high));
      if (!share) over.push_back(learn::MeanOverReservation(bounded, high));
    }
    using core::Mean;
    return {NameOf(figure), held.size(),    Mean(rmsle), Mean(mae), Mean(mape),
            Mean(median),   Mean(interval), Mean(p95),   Mean(over)};
  }

  const std::vector<predict::Row>& rows_;
  const std::vector<Round>& rounds_;
  std::vector<const Split*> folds_;
};

// Fitted on all rows: this tells what the learner looks at, not how good it is.
core::Result<std::vector<Importance>> ImportanceOf(const std::vector<predict::Row>& rows) {
  // Its intervals are not asked for, so as few folds as there may be.
  predict::TrainOptions options;
  options.learner = "boosted";
  options.folds = 2;
  const auto predictor = predict::Train(rows, options);
  RETURN_IF_ERROR(predictor);
  std::vector<Importance> out;
  for (const Figure figure : kImportanceOf) {
    const auto* residual = predictor->residual(figure);
    if (residual == nullptr) continue;
    Importance importance{NameOf(figure), {}};
    const std::vector<double> shares = residual->Importance();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] > 0) importance.features.push_back({residual->features()[i], shares[i]});
    }
    std::stable_sort(
        importance.features.begin(), importance.features.end(),
        [](const FeatureShare& a, const FeatureShare& b) { return a.share > b.share; });
    out.push_back(std::move(importance));
  }
  return out;
}

core::Result<std::vector<std::string>> LearnersOf(const EvaluationOptions& options) {
  if (options.learners.empty()) return std::vector<std::string>(kLearners.begin(), kLearners.end());
  std::vector<std::string> known(kLearners.begin(), kLearners.end());
  for (const std::string_view learner : predict::YeungLearners()) {
    if (std::find(known.begin(), known.end(), learner) == known.end()) known.emplace_back(learner);
  }
  for (const std::string& learner : options.learners) {
    if (std::find(known.begin(), known.end(), learner) != known.end()) continue;
    return core::UsageError("there is no learner '{}'; there are {}{}", learner,
                            fmt::join(known, ", "), core::DidYouMean(learner, known));
  }
  return options.learners;
}

}  // namespace

std::string_view NameOf(HoldBack split) { return kSplits[static_cast<std::size_t>(split)]; }

core::Result<HoldBack> ParseHoldBack(std::string_view text) {
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    if (kSplits[i] == text) return static_cast<HoldBack>(i);
  }
  return core::UsageError("'{}' is not allowed; give one of {}", text, fmt::join(kSplits, ", "));
}

std::span<const std::string_view> EvaluatedLearners() { return kLearners; }

const FigureErrors* LearnerErrors::Find(std::string_view figure) const {
  for (const FigureErrors& errors : figures) {
    if (errors.figure == figure) return &errors;
  }
  return nullptr;
}

core::Result<Evaluation> Evaluate(const TrainingSet& set, const EvaluationOptions& options) {
  const auto learners = LearnersOf(options);
  RETURN_IF_ERROR(learners);
  const auto rounds = RoundsOf(set.rows, options);
  RETURN_IF_ERROR(rounds);
  const Evaluator evaluator(set.rows, *rounds);

  Evaluation out;
  out.split = options.split;
  out.folds = evaluator.folds();
  out.search = options.search;
  out.without_graph = set.without_graph;
  out.measured = set.measured;
  std::set<std::string> families, gpus;
  for (const predict::Row& row : set.rows) {
    families.insert(row.family);
    gpus.insert(row.query.gpu->name);
    out.rows.push_back({row.workload, row.precision_word, row.query.gpu->name, row.family,
                        row.query.graph->batch, row.query.workers});
  }
  out.families = families.size();
  out.gpus = gpus.size();
  for (std::size_t k = 0; k < learners->size(); ++k) {
    const std::string& learner = (*learners)[k];
    predict::TrainOptions train;
    train.learner = learner;
    train.search = options.search;
    train.refit = options.refit;
    train.operators = options.operators;
    auto errors = evaluator.Run(
        k, train,
        [&](std::size_t done) {
          if (!options.progress) return;
          options.progress(learner, k * out.folds + done, learners->size() * out.folds);
        },
        out.values);
    RETURN_IF_ERROR(errors);
    out.learners.push_back(std::move(*errors));
    if (learner != "boosted") continue;
    auto importance = ImportanceOf(set.rows);
    RETURN_IF_ERROR(importance);
    out.importance = std::move(*importance);
  }
  return out;
}

}  // namespace sharewell::research
