#include "research/train/retraining.h"

#include <set>
#include <tuple>
#include <utility>

#include "core/result.h"
#include "research/train/training_rows.h"

namespace sharewell::research {
namespace {

NextErrors ErrorsOn(const predict::Predictor& shipped, const predict::Predictor& retrained,
                    const std::vector<predict::Row>& rows) {
  NextErrors out;
  out.runs = rows.size();
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    const auto figure = static_cast<predict::Figure>(f);
    out.shipped[f] = predict::ErrorOn(shipped, rows, figure);
    out.retrained[f] = predict::ErrorOn(retrained, rows, figure);
  }
  return out;
}

}  // namespace

core::Result<RetrainReport> RetrainModel(const RetrainAsk& ask, const predict::Trained& shipped,
                                         const catalogue::GpuCatalogue& catalogue) {
  const auto runs = ReadTrainingSet(ask.runs, catalogue);
  RETURN_IF_ERROR(runs);
  auto result = predict::Retrain(shipped.predictor, shipped.predictor, runs->rows);
  RETURN_IF_ERROR(result);
  RetrainReport report{std::move(*result), shipped, {}, {}};
  if (report.result.predictor) report.trained.predictor = *std::move(report.result.predictor);
  report.result.predictor.reset();
  if (ask.next.empty()) return report;
  const auto next = ReadTrainingSet(ask.next, catalogue);
  RETURN_IF_ERROR(next);
  report.next = ErrorsOn(shipped.predictor, report.trained.predictor, next->rows);
  const auto key = [](const predict::Row& row) {
    return std::tuple(row.workload, row.query.graph->batch, row.precision_word, row.query.workers);
  };
  std::set<decltype(key(runs->rows[0]))> seen;
  for (const predict::Row& row : runs->rows) seen.insert(key(row));
  std::vector<predict::Row> unseen;
  for (const predict::Row& row : next->rows) {
    if (!seen.contains(key(row))) unseen.push_back(row);
  }
  if (!unseen.empty()) {
    report.unseen = ErrorsOn(shipped.predictor, report.trained.predictor, unseen);
  }
  return report;
}

core::Result<NextErrors> ErrorsOfGiven(const std::vector<std::string>& profiles,
                                       const predict::Trained& shipped,
                                       const predict::Trained& given,
                                       const catalogue::GpuCatalogue& catalogue) {
  const auto set = ReadTrainingSet(profiles, catalogue);
  RETURN_IF_ERROR(set);
  return ErrorsOn(shipped.predictor, given.predictor, set->rows);
}

}  // namespace sharewell::research
