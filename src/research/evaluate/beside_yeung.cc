#include "research/evaluate/beside_yeung.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "predict/yeung.h"
#include "research/evaluate/evaluation.h"

namespace sharewell::research {
namespace {

constexpr double kPublished = 0.154;  // Yeung et al., section 5: the random forest
constexpr std::array<std::string_view, 2> kOurs = {"analytic", "mean"};

}  // namespace

const LearnerBesideYeung* BesideYeung::Find(std::string_view learner) const {
  for (const LearnerBesideYeung& one : learners) {
    if (one.learner == learner) return &one;
  }
  return nullptr;
}

core::Result<BesideYeung> CompareWithYeung(const TrainingSet& set,
                                           const BesideYeungOptions& options) {
  BesideYeung out;
  EvaluationOptions evaluate;
  evaluate.folds = options.folds;
  evaluate.search = true;
  for (const std::string_view learner : predict::YeungLearners()) {
    evaluate.learners.emplace_back(learner);
  }
  // Ours are what users get: "mean" searches nothing, and the base has nothing to search.
  for (const std::string_view learner : kOurs) evaluate.learners.emplace_back(learner);
  for (const std::string& learner : evaluate.learners) {
    out.learners.push_back({learner, {}, 0, 0});
    if (learner == "yeung-forest") out.learners.back().paper = kPublished;
  }
  const auto names = predict::YeungFeatureNames(false);
  const auto flops =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), "flops") - names.begin());
  for (const predict::Row& row : set.rows) {
    const auto& busy = row.measured[predict::Index(predict::Figure::kBusy)];
    if (!busy) continue;
    out.workloads.push_back(
        {fmt::format("{} batch {} {}", row.workload, row.query.graph->batch, row.precision_word),
         row.family, predict::YeungFeaturesOf(row.query, false)[flops], *busy});
  }
  for (const HoldBack split : {HoldBack::kRandom, HoldBack::kFamily}) {
    evaluate.split = split;
    evaluate.progress = [&](std::string_view learner, std::size_t done, std::size_t of) {
      const std::size_t before = split == HoldBack::kFamily ? of : 0;
      if (options.progress) options.progress(learner, before + done, 2 * of);
    };
    const auto evaluation = Evaluate(set, evaluate);
    RETURN_IF_ERROR(evaluation);
    out.rows = evaluation->rows.size();
    out.families = evaluation->families;
    out.folds = options.folds;
    for (std::size_t i = 0; i < out.learners.size(); ++i) {
      const FigureErrors* busy = evaluation->learners[i].Find("busy");
      if (busy == nullptr || !busy->rmsle) {
        return core::UsageError(
            "no row has a measured GPU utilisation (column gpu_util), so there is nothing to "
            "compare");
      }
      (split == HoldBack::kRandom ? out.learners[i].random : out.learners[i].family) = *busy->rmsle;
    }
  }
  return out;
}

}  // namespace sharewell::research
