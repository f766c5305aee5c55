#include "research/evaluate/worth.h"

#include <cmath>

namespace sharewell::research {
namespace {

struct Variant {
  std::string_view without;
  bool table, probe, residual;
};
constexpr std::array<Variant, 5> kVariants = {{{"", true, true, true},
                                               {"operator table", false, true, true},
                                               {"host probe", true, false, true},
                                               {"learned residual", true, true, false},
                                               {"all three", false, false, false}}};

WorthErrors ErrorsOf(const Evaluation& evaluation) {
  WorthErrors out;
  const LearnerErrors& errors = evaluation.learners.at(0);
  const auto of = [&](predict::Figure figure, std::optional<double> FigureErrors::*which) {
    const FigureErrors* found = errors.Find(NameOf(figure));
    return found != nullptr ? (found->*which).value_or(0) : 0;
  };
  out.utilisation = of(predict::Figure::kBusy, &FigureErrors::rmsle);
  out.step_time = of(predict::Figure::kStepSeconds, &FigureErrors::mape);
  out.memory = of(predict::Figure::kMemory, &FigureErrors::mape);
  double sum = 0, count = 0;
  for (const HeldOutValue& value : evaluation.values) {
    if (value.figure != NameOf(predict::Figure::kBusySeconds)) continue;
    const double off = std::log(value.predicted.median / value.actual);
    sum += off * off;
    ++count;
  }
  out.gpu_seconds = count > 0 ? std::sqrt(sum / count) : 0;
  return out;
}

}  // namespace

core::Result<Worth> WorthOf(const TrainingSet& set, const predict::OperatorTable* operators,
                            std::size_t folds,
                            const std::function<void(std::size_t done, std::size_t of)>& progress) {
  // The same rows on a host that nothing is known of.
  TrainingSet unknown_host;
  unknown_host.rows = set.rows;
  for (predict::Row& row : unknown_host.rows) row.query.host_time = 1;

  Worth out;
  out.cells = operators != nullptr ? operators->cells().size() : 0;
  std::size_t done = 0;
  const std::size_t all = kVariants.size() * 2;
  for (const Variant& variant : kVariants) {
    const bool same = operators == nullptr && variant.without == "operator table";
    if (same) {
      done += 2;
      continue;
    }
    WorthRow row{variant.without, {}, {}};
    for (const HoldBack split : {HoldBack::kFamily, HoldBack::kRandom}) {
      EvaluationOptions options;
      options.split = split;
      options.folds = folds;
      options.learners = {variant.residual ? "mean" : "analytic"};
      options.refit = true;
      options.operators = variant.table ? operators : nullptr;
      const auto evaluation = Evaluate(variant.probe ? set : unknown_host, options);
      RETURN_IF_ERROR(evaluation);
      (split == HoldBack::kFamily ? row.families : row.random) = ErrorsOf(*evaluation);
      out.rows = evaluation->rows.size();
      out.families = evaluation->families;
      out.folds = evaluation->folds;
      if (progress) progress(++done, all);
    }
    out.variants.push_back(row);
  }
  return out;
}

}  // namespace sharewell::research
