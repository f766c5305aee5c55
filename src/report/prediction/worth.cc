#include "report/prediction/worth.h"

#include <fmt/format.h>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

std::string WithoutWhat(std::string_view part) {
  return part.empty() ? "everything" : "without the " + std::string(part);
}

Json ErrorsOf(const study::WorthErrors& errors) {
  return {{"utilisation_rmsle", errors.utilisation},
          {"gpu_seconds_rms_log", errors.gpu_seconds},
          {"step_time_mape", errors.step_time},
          {"gpu_memory_mape", errors.memory}};
}

}  // namespace

std::string WorthText(const study::Worth& in) {
  Table table({{"families held out", Align::kLeft},
               {"utilisation", Align::kRight},
               {"GPU seconds", Align::kRight},
               {"step time", Align::kRight},
               {"memory", Align::kRight},
               {"at random: utilisation", Align::kRight},
               {"GPU seconds", Align::kRight},
               {"step time", Align::kRight}});
  for (const study::WorthRow& row : in.variants) {
    table.Row({row.without == "all three" ? "without all three" : WithoutWhat(row.without),
               fmt::format("{:.3f}", row.families.utilisation),
               fmt::format("{:.3f}", row.families.gpu_seconds), Percent(row.families.step_time),
               Percent(row.families.memory), fmt::format("{:.3f}", row.random.utilisation),
               fmt::format("{:.3f}", row.random.gpu_seconds), Percent(row.random.step_time)});
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

std::string WorthJson(const study::Worth& in, const std::vector<std::string>& profiles) {
  Json json;
  json["schema"] = kSchema;
  json["profiles"] = profiles;
  json["rows"] = in.rows;
  json["families"] = in.families;
  json["folds"] = in.folds;
  json["cells"] = in.cells;
  json["variants"] = Json::array();
  for (const study::WorthRow& row : in.variants) {
    json["variants"].push_back(
        {{"without", row.without.empty() ? Json(nullptr) : Json(row.without)},
         {"families_held_out", ErrorsOf(row.families)},
         {"rows_held_out", ErrorsOf(row.random)}});
  }
  return Document(json);
}

}  // namespace sharewell::report
