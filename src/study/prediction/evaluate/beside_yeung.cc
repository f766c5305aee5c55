#include "study/prediction/evaluate/beside_yeung.h"

#include <array>
#include <utility>

#include "predict/yeung.h"
#include "study/prediction/evaluate/evaluation.h"

namespace sharewell::study {
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

}  // namespace sharewell::study
