#include "predict/learn/judge/grid_search.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/result.h"

namespace sharewell::predict::learn {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double ErrorOf(const Table& table, const HeldOut& held_out) {
  double squares = 0;
  double weight = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const double off = held_out.predictions[i] - table.targets[i];
    if (std::isnan(held_out.predictions[i])) continue;
    squares += table.Weight(i) * off * off;
    weight += table.Weight(i);
  }
  SHAREWELL_CHECK(weight > 0);
  return std::sqrt(squares / weight);
}

}  // namespace

core::Result<HeldOut> PredictHeldOut(const LearnerSpec& spec, const Table& table,
                                     std::span<const Split> folds) {
  HeldOut out{std::vector<double>(table.rows(), kUnknown),
              std::vector<double>(table.rows(), kUnknown)};
  for (const Split& fold : folds) {
    const auto regressor = Fit(spec, table.Subset(fold.train));
    RETURN_IF_ERROR(regressor);
    for (std::size_t i : fold.test) {
      out.predictions[i] = regressor->Predict(table.Row(i));
      out.spreads[i] = regressor->Spread(table.Row(i)).value_or(kUnknown);
    }
  }
  return out;
}

core::Result<Choice> GridSearch(std::span<const LearnerSpec> specs, const Table& table,
                                std::span<const Split> folds) {
  if (specs.empty()) return core::UsageError("there is no learner to choose from");
  Choice choice;
  for (std::size_t s = 0; s < specs.size(); ++s) {
    auto held_out = PredictHeldOut(specs[s], table, folds);
    RETURN_IF_ERROR(held_out);
    choice.errors.push_back(ErrorOf(table, *held_out));
    if (s > 0 && !(choice.errors[s] < choice.errors[choice.best])) continue;
    choice.best = s;
    choice.held_out = std::move(*held_out);
  }
  return choice;
}

}  // namespace sharewell::predict::learn
