#include "research/pages/pair_evaluation.h"

#include <fmt/format.h>

#include <vector>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

struct PairRow {
  const char* key;
  std::string words;
  const SpeedErrors* errors;
};

std::vector<PairRow> PairRows(const PairEvaluation& ours, const std::optional<SpeedErrors>& gavel) {
  std::vector<PairRow> rows = {
      {"model", "interference model alone, as shipped", &ours.model},
      {"pair_held_out", "group held out, its workloads seen in others", &ours.seen},
      {"workload_held_out", "no workload of the group seen", &ours.unseen.measured},
      {"workload_held_out_predicted_demands", "no workload seen, demands from graphs",
       &ours.unseen.from_graphs}};
  if (gavel) rows.push_back({"gavel_pair_held_out", "Gavel's pairs, pair held out", &*gavel});
  return rows;
}

}  // namespace

std::string PairEvaluationText(const PairEvaluation& ours,
                               const std::optional<SpeedErrors>& gavel) {
  report::Table table({{"speed beside another job", report::Align::kLeft},
                       {"speeds", report::Align::kRight},
                       {"error", report::Align::kRight},
                       {"bias", report::Align::kRight},
                       {"in bounds", report::Align::kRight},
                       {"width", report::Align::kRight}});
  for (const PairRow& row : PairRows(ours, gavel)) {
    const SpeedErrors& e = *row.errors;
    const bool bounds = e.width > 0;  // the interference model alone gives none
    table.Row({row.words, fmt::format("{}", e.speeds), fmt::format("{:.3f}", e.mean_absolute),
               fmt::format("{:+.3f}", e.bias),
               bounds ? report::Percent(e.coverage) : report::kUnknown,
               bounds ? fmt::format("{:.3f}", e.width) : report::kUnknown});
  }
  return fmt::format(
      "{}\n"
      "error      mean absolute error of the speed, which is 1 for a job that is alone\n"
      "bias       predicted minus measured speed, on average\n"
      "in bounds  measured speeds between the lower and the upper bound; 90 % is promised\n"
      "width      distance between the two bounds, on average\n\n"
      "A constant is off by {:.3f}. A single measurement is off by {:.3f} itself\n"
      "({} measured more than once).\n"
      "Over pairs of which nothing was seen, predicted and measured sums of speeds have a rank\n"
      "correlation (Spearman) of {:.3f}, from graphs {:.3f}.\n",
      table.Text(), ours.unseen.constant, ours.repeat_noise,
      core::Count(ours.repeated, "group was", "groups were"), ours.unseen.spearman,
      ours.unseen.spearman_from_graphs);
}

std::string PairEvaluationJson(const PairEvaluation& ours,
                               const std::optional<SpeedErrors>& gavel) {
  return report::JsonReport([&](json::Writer& out) {
    out.Object("pairs", [&] {
      for (const PairRow& row : PairRows(ours, gavel)) {
        out.Object(row.key, [&] {
          out.Field("speeds", row.errors->speeds);
          out.Field("mean_absolute_error", row.errors->mean_absolute);
          out.Field("bias", row.errors->bias);
          out.Field("interval_coverage", row.errors->coverage);
          out.Field("interval_width", row.errors->width);
          if (row.errors == &ours.unseen.measured) {
            out.Field("spearman_of_sums", ours.unseen.spearman);
          } else if (row.errors == &ours.unseen.from_graphs) {
            out.Field("spearman_of_sums", ours.unseen.spearman_from_graphs);
          }
        });
      }
      out.Object("constant", [&] { out.Field("mean_absolute_error", ours.unseen.constant); });
      out.Object("repeats", [&] {
        out.Field("pairs", ours.repeated);
        out.Field("mean_absolute_error", ours.repeat_noise);
      });
    });
  });
}

}  // namespace sharewell::research
