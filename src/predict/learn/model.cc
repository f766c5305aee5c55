#include "predict/learn/model.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/result.h"

namespace sharewell::predict::learn {
namespace {

double PredictOf(const TreeEnsemble& model, std::span<const double> row) {
  return model.Predict(row);
}
double PredictOf(const Linear& model, std::span<const double> row) { return model.Predict(row); }
double PredictOf(const Gaussian& model, std::span<const double> row) { return model.Predict(row); }
double PredictOf(const MeanModel& model, std::span<const double> row) {
  double sum = 0;
  for (const auto& member : model.members) {
    sum += std::visit([&](const auto& m) { return PredictOf(m, row); }, member);
  }
  return sum / static_cast<double>(model.members.size());
}

std::optional<double> SpreadOf(const TreeEnsemble& model, std::span<const double> row) {
  return model.Spread(row);
}
std::optional<double> SpreadOf(const Linear&, std::span<const double>) { return std::nullopt; }
std::optional<double> SpreadOf(const Gaussian& model, std::span<const double> row) {
  return model.Spread(row);
}
// Both what the members say of themselves (on average) and how they differ count.
std::optional<double> SpreadOf(const MeanModel& model, std::span<const double> row) {
  const double n = static_cast<double>(model.members.size());
  const double mean = PredictOf(model, row);
  double variance = 0;
  double own = 0;
  double speaking = 0;
  for (const auto& member : model.members) {
    const double off = std::visit([&](const auto& m) { return PredictOf(m, row); }, member) - mean;
    if (n > 1) variance += off * off / (n - 1);
    const auto spread = std::visit([&](const auto& m) { return SpreadOf(m, row); }, member);
    if (!spread) continue;
    own += *spread * *spread;
    ++speaking;
  }
  if (n < 2 && speaking < 1) return std::nullopt;
  return std::sqrt(variance + (speaking > 0 ? own / speaking : 0));
}

std::vector<double> ImportanceOf(const TreeEnsemble& model) { return model.importance; }
std::vector<double> ImportanceOf(const Linear& model) { return model.Importance(); }
std::vector<double> ImportanceOf(const Gaussian& model) { return model.Importance(); }
std::vector<double> ImportanceOf(const MeanModel& model) {
  std::vector<double> sum;
  for (const auto& member : model.members) {
    const auto one = std::visit([](const auto& m) { return ImportanceOf(m); }, member);
    sum.resize(one.size());
    for (std::size_t f = 0; f < one.size(); ++f) sum[f] += one[f];
  }
  MakeShares(sum);
  return sum;
}

core::Result<Regressor::Model> FitModel(const BoostingOptions& options, const Table& table) {
  return FitBoosted(options, table);
}
core::Result<Regressor::Model> FitModel(const ForestOptions& options, const Table& table) {
  return FitForest(options, table);
}
core::Result<Regressor::Model> FitModel(const LinearOptions& options, const Table& table) {
  return FitLinear(options, table);
}
core::Result<Regressor::Model> FitModel(const GaussianOptions& options, const Table& table) {
  auto fitted = FitGaussian(options, table);
  RETURN_IF_ERROR(fitted);
  return std::move(*fitted);
}
core::Result<Regressor::Model> FitModel(const MeanOptions& options, const Table& table) {
  MeanModel out;
  for (const LearnerSpec& spec : options.members) {
    auto fitted = std::visit([&](const auto& o) { return FitModel(o, table); }, spec.options);
    RETURN_IF_ERROR(fitted);
    std::visit(
        [&](auto& member) {
          // A mean of means is refused by LearnerSpec::Check.
          if constexpr (!std::is_same_v<std::decay_t<decltype(member)>, MeanModel>) {
            out.members.emplace_back(std::move(member));
          }
        },
        *fitted);
  }
  return out;
}

}  // namespace

Regressor::Regressor(std::vector<std::string> features, Model model)
    : features_(std::move(features)), model_(std::move(model)) {}

double Regressor::Predict(std::span<const double> row) const {
  SHAREWELL_CHECK(row.size() == features_.size());
  return std::visit([&](const auto& m) { return PredictOf(m, row); }, model_);
}

std::optional<double> Regressor::Spread(std::span<const double> row) const {
  SHAREWELL_CHECK(row.size() == features_.size());
  return std::visit([&](const auto& m) { return SpreadOf(m, row); }, model_);
}

std::vector<double> Regressor::Importance() const {
  return std::visit([](const auto& m) { return ImportanceOf(m); }, model_);
}

core::Result<Regressor> Fit(const LearnerSpec& spec, const Table& table) {
  RETURN_IF_ERROR(spec.Check());
  RETURN_IF_ERROR(table.Check());
  auto model = std::visit([&](const auto& o) { return FitModel(o, table); }, spec.options);
  RETURN_IF_ERROR(model);
  return Regressor(table.features, std::move(*model));
}

}  // namespace sharewell::predict::learn
