#include "report/prediction/pair_evaluation.h"

#include <fmt/format.h>

#include <vector>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using study::SpeedErrors;

struct PairRow {
  const char* key;
  std::string words;
  const SpeedErrors* errors;
};

std::vector<PairRow> PairRows(const study::PairEvaluation& ours,
                              const std::optional<SpeedErrors>& gavel) {
  std::vector<PairRow> rows = {
      {"model", "interference model alone, nothing learnt", &ours.model},
      {"pair_held_out", "pair held out", &ours.seen},
      {"workload_held_out", "workload held out", &ours.unseen},
      {"workload_held_out_predicted_demands",
       fmt::format("workload held out, demands off by {:.0f} %", predict::kDemandError * 100),
       &ours.unseen_predicted}};
  if (gavel) rows.push_back({"gavel_pair_held_out", "Gavel's pairs, pair held out", &*gavel});
  return rows;
}

}  // namespace

std::string PairEvaluationText(const study::PairEvaluation& ours,
                               const std::optional<SpeedErrors>& gavel) {
  Table table({{"speed beside another job", Align::kLeft},
               {"speeds", Align::kRight},
               {"error", Align::kRight},
               {"bias", Align::kRight},
               {"in bounds", Align::kRight},
               {"width", Align::kRight}});
  for (const PairRow& row : PairRows(ours, gavel)) {
    const SpeedErrors& e = *row.errors;
    const bool bounds = e.width > 0;  // the interference model alone gives none
    table.Row({row.words, fmt::format("{}", e.speeds), fmt::format("{:.3f}", e.mean_absolute),
               fmt::format("{:+.3f}", e.bias), bounds ? Percent(e.coverage) : kUnknown,
               bounds ? fmt::format("{:.3f}", e.width) : kUnknown});
  }
  return fmt::format(
      "{}\n"
      "error      mean absolute error of the speed, which is 1 for a job that is alone\n"
      "bias       predicted minus measured speed, on average\n"
      "in bounds  measured speeds between the lower and the upper bound; 90 % is promised\n"
      "width      distance between the two bounds, on average\n\n"
      "A single measurement of a pair is off by {:.3f} itself ({} measured more than once).\n",
      table.Text(), ours.repeat_noise, core::Count(ours.repeated, "pair was", "pairs were"));
}

std::string PairEvaluationJson(const study::PairEvaluation& ours,
                               const std::optional<SpeedErrors>& gavel) {
  Json pairs = Json::object();
  for (const PairRow& row : PairRows(ours, gavel)) {
    pairs[row.key] = {{"speeds", row.errors->speeds},
                      {"mean_absolute_error", row.errors->mean_absolute},
                      {"bias", row.errors->bias},
                      {"interval_coverage", row.errors->coverage},
                      {"interval_width", row.errors->width}};
  }
  pairs["repeats"] = {{"pairs", ours.repeated}, {"mean_absolute_error", ours.repeat_noise}};
  return Document({{"schema", kSchema}, {"pairs", std::move(pairs)}});
}

}  // namespace sharewell::report
