#include "report/prediction/timm.h"

#include <fmt/format.h>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {

std::string TimmText(const study::TimmErrors& errors) {
  Table table({{"step time", Align::kLeft}, {"mean error", Align::kRight}});
  table.Row({"arithmetic alone", Percent(errors.base)});
  table.Row({"with what was learnt", Percent(errors.learned)});
  return fmt::format(
      "timm's training benchmark: {} models of {} families, whole families held out; mean of {} "
      "ways to\ndeal them into folds. From counts alone: multiply-adds, activations, parameters, "
      "batch, image size.\n\n{}",
      errors.models, errors.families, errors.by_seed.size(), table.Text());
}

std::string TimmJson(const study::TimmErrors& errors) {
  return JsonReport([&](json::Writer& out) {
    out.Object("timm", [&] {
      out.Field("models", errors.models);
      out.Field("families", errors.families);
      out.Field("base_mape", errors.base);
      out.Field("mape", errors.learned);
      out.Field("mape_by_seed", errors.by_seed);
    });
  });
}

}  // namespace sharewell::report
