#include "research/pages/evaluation.h"

#include <fmt/format.h>

#include "core/text/words.h"
#include "report/text/csv.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

using Value = std::optional<double> FigureErrors::*;

// What the table has room for; JSON has everything.
struct Column {
  const char* heading;
  const char* figure;
  Value value;
};
constexpr Column kColumns[] = {
    {"utilisation", "busy", &FigureErrors::rmsle},
    {"step time", "step_seconds", &FigureErrors::mape},
    {"busy time", "busy_seconds", &FigureErrors::mape},
    {"memory", "gpu_memory", &FigureErrors::mape},
    {"below p95", "gpu_memory", &FigureErrors::p95_coverage},
    {"set aside", "gpu_memory", &FigureErrors::over_reservation},
    {"cores", "cores", &FigureErrors::mape},
    {"power", "power", &FigureErrors::mape},
};

std::string Cell(const LearnerErrors& learner, const Column& column) {
  const FigureErrors* errors = learner.Find(column.figure);
  if (errors == nullptr) return report::kUnknown;
  return report::Or(errors->*column.value, [&](double value) {
    return column.value == &FigureErrors::rmsle ? fmt::format("{:.3f}", value)
                                                : report::Percent(value);
  });
}

std::string HowSplit(const Evaluation& in) {
  switch (in.split) {
    case HoldBack::kRandom:
      return fmt::format("a fifth of them held out at random, {} times", in.folds);
    case HoldBack::kFamily:
      return fmt::format("whole families held out, in {} folds", in.folds);
    case HoldBack::kGpu:
      break;
  }
  return "each GPU model held out in turn";
}

void WriteFigure(json::Writer& out, const FigureErrors& errors) {
  out.Object(errors.figure, [&] {
    out.Field("rows", errors.rows);
    out.Field("rmsle", errors.rmsle);
    out.Field("mean_absolute_percent_points", errors.mae);
    out.Field("mape", errors.mape);
    out.Field("median_ape", errors.median_ape);
    out.Field("interval_coverage", errors.interval_coverage);
    out.Field("p95_coverage", errors.p95_coverage);
    out.Field("over_reservation", errors.over_reservation);
  });
}

}  // namespace

std::string EvaluationTable(const Evaluation& in) {
  std::string text =
      fmt::format("{} of {} on {}; {}{}\n", core::Count(in.rows.size(), "workload"),
                  core::Count(in.families, "family", "families"), core::Count(in.gpus, "GPU model"),
                  HowSplit(in), in.search ? ", learners' options searched" : "");
  if (in.measured > in.rows.size()) {
    text += fmt::format("{} in all; a workload that has several counts once, with their medians\n",
                        core::Count(in.measured, "row"));
  }
  if (in.without_graph > 0) {
    text += fmt::format("{} more name no graph and are left out\n", in.without_graph);
  }
  std::vector<std::pair<std::string, report::Align>> columns = {{"learner", report::Align::kLeft}};
  for (const Column& column : kColumns) columns.emplace_back(column.heading, report::Align::kRight);
  report::Table table(columns);
  for (const LearnerErrors& learner : in.learners) {
    std::vector<std::string> cells = {learner.learner};
    for (const Column& column : kColumns) cells.push_back(Cell(learner, column));
    table.Row(std::move(cells));
  }
  return text + "\n" + table.Text() +
         "\n"
         "utilisation  root mean square of the difference of log(1 + percent), as in Yeung et al.\n"
         "below p95    rows that need no more GPU memory than the upper bound; 95 % is promised\n"
         "set aside    GPU memory that this bound reserves beyond what is needed, on average\n"
         "others       mean absolute percentage error\n";
}

std::string EvaluationJson(const Evaluation& in, const std::vector<std::string>& profiles) {
  return report::JsonReport([&](json::Writer& out) {
    out.Field("profiles", profiles);
    out.Field("split", NameOf(in.split));
    out.Field("folds", in.folds);
    out.Field("search", in.search);
    out.Field("rows", in.rows.size());
    out.Field("rows_measured", std::max(in.measured, in.rows.size()));
    out.Field("rows_without_graph", in.without_graph);
    out.Field("families", in.families);
    out.Field("gpu_models", in.gpus);
    out.List("learners", in.learners, [&](const LearnerErrors& learner) {
      out.Object([&] {
        out.Field("name", learner.learner);
        out.Object("figures", [&] {
          for (const FigureErrors& errors : learner.figures) WriteFigure(out, errors);
        });
      });
    });
    out.Object("importance", [&] {
      for (const Importance& importance : in.importance) {
        out.List(importance.figure, importance.features, [&](const FeatureShare& feature) {
          out.Object([&] {
            out.Field("feature", feature.feature);
            out.Field("share", feature.share);
          });
        });
      }
    });
  });
}

std::string PredictionsCsv(const Evaluation& in) {
  report::CsvText csv(
      "learner,fold,row,workload,batch,precision,workers,gpu,family,figure,actual,predicted,p05,"
      "p95");
  for (const HeldOutValue& value : in.values) {
    const EvaluatedRow& row = in.rows[value.row];
    csv.Field(in.learners[value.learner].learner)
        .Field(static_cast<double>(value.fold + 1))
        .Field(static_cast<double>(value.row + 1))
        .Field(row.workload)
        .Field(static_cast<double>(row.batch))
        .Field(row.precision)
        .Field(static_cast<double>(row.workers))
        .Field(row.gpu)
        .Field(row.family)
        .Field(value.figure)
        .Field(value.actual)
        .Field(value.predicted.median)
        .Field(value.predicted.KnownLow())
        .Field(value.predicted.KnownHigh())
        .EndRow();
  }
  return std::move(csv).Take();
}

}  // namespace sharewell::research
