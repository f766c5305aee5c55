#include "research/pages/timm.h"

#include <fmt/format.h>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {

std::string TimmText(const TimmErrors& errors) {
  report::Table table({{"step time", report::Align::kLeft}, {"mean error", report::Align::kRight}});
  table.Row({"arithmetic alone", report::Percent(errors.base)});
  table.Row({"with what was learnt", report::Percent(errors.learned)});
  return fmt::format(
      "timm's training benchmark: {} models of {} families, whole families held out; mean of {} "
      "ways to\ndeal them into folds. From counts alone: multiply-adds, activations, parameters, "
      "batch, image size.\n\n{}",
      errors.models, errors.families, errors.by_seed.size(), table.Text());
}

std::string TimmJson(const TimmErrors& errors) {
  return report::JsonReport([&](json::Writer& out) {
    out.Object("timm", [&] {
      out.Field("models", errors.models);
      out.Field("families", errors.families);
      out.Field("base_mape", errors.base);
      out.Field("mape", errors.learned);
      out.Field("mape_by_seed", errors.by_seed);
    });
  });
}

}  // namespace sharewell::research
