#include "research/pages/worth.h"

#include <fmt/format.h>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

std::string WithoutWhat(std::string_view part) {
  return part.empty() ? "everything" : "without the " + std::string(part);
}

void WriteErrors(json::Writer& out, const char* key, const WorthErrors& errors) {
  out.Object(key, [&] {
    out.Field("utilisation_rmsle", errors.utilisation);
    out.Field("gpu_seconds_rms_log", errors.gpu_seconds);
    out.Field("step_time_mape", errors.step_time);
    out.Field("gpu_memory_mape", errors.memory);
  });
}

}  // namespace

std::string WorthText(const Worth& in) {
  report::Table table({{"families held out", report::Align::kLeft},
                       {"utilisation", report::Align::kRight},
                       {"GPU seconds", report::Align::kRight},
                       {"step time", report::Align::kRight},
                       {"memory", report::Align::kRight},
                       {"at random: utilisation", report::Align::kRight},
                       {"GPU seconds", report::Align::kRight},
                       {"step time", report::Align::kRight}});
  for (const WorthRow& row : in.variants) {
    table.Row(
        {row.without == "all three" ? "without all three" : WithoutWhat(row.without),
         fmt::format("{:.3f}", row.families.utilisation),
         fmt::format("{:.3f}", row.families.gpu_seconds), report::Percent(row.families.step_time),
         report::Percent(row.families.memory), fmt::format("{:.3f}", row.random.utilisation),
         fmt::format("{:.3f}", row.random.gpu_seconds), report::Percent(row.random.step_time)});
  }
  return fmt::format(
      "what each part is worth: {} of {}, {} folds, {} of operators\n\n{}\n"
      "Rates, residual and the table's cells are those of the rows learnt from, in every fold.\n"
      "utilisation: RMSLE; GPU seconds: root mean square of log(predicted / measured); others:\n"
      "mean absolute percentage error. Without the probe every host counts as our reference "
      "host.\n",
      core::Count(in.rows, "workload"), core::Count(in.families, "family", "families"), in.folds,
      core::Count(in.cells, "cell"), table.Text());
}

std::string WorthJson(const Worth& in, const std::vector<std::string>& profiles) {
  return report::JsonReport([&](json::Writer& out) {
    out.Field("profiles", profiles);
    out.Field("rows", in.rows);
    out.Field("families", in.families);
    out.Field("folds", in.folds);
    out.Field("cells", in.cells);
    out.List("variants", in.variants, [&](const WorthRow& row) {
      out.Object([&] {
        out.TextOrNull("without", row.without);
        WriteErrors(out, "families_held_out", row.families);
        WriteErrors(out, "rows_held_out", row.random);
      });
    });
  });
}

}  // namespace sharewell::research
