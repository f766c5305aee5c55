#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "research/reproduce/checklist/checklist.h"

namespace sharewell::research {

std::string ShortFigure(const ReproduceRow& row) {
  if (!row.ours) return "-";
  const double value = *row.ours;
  if (row.unit == "ratio") return fmt::format("{:.1f} %", 100 * value);
  if (row.unit == "times" || row.unit == "correlation") return fmt::format("{:.2f}", value);
  if (row.unit == "count") return fmt::format("{:.0f}", value);
  if (row.unit == "us") return fmt::format("{:.0f} us", value);
  if (row.unit == "cores") return fmt::format("{:.{}f}", value, value == std::floor(value) ? 0 : 1);
  return fmt::format("{:.4g} {}", value, row.unit);
}

namespace reproduce {

core::Result<void> FillAnswers(Experiment& experiment) {
  for (PaperItem& item : experiment.items) {
    std::string filled;
    std::string_view left = item.answer;
    while (true) {
      const auto open = left.find('{');
      filled += left.substr(0, open);
      if (open == std::string_view::npos) break;
      const auto close = left.find('}', open);
      const auto what = left.substr(open + 1, close - open - 1);
      const auto row = std::find_if(experiment.rows.begin(), experiment.rows.end(),
                                    [&](const ReproduceRow& r) { return r.what == what; });
      if (close == std::string_view::npos || row == experiment.rows.end()) {
        return core::FailedError("{} names a row that the experiment has not: {}", item.id, what);
      }
      filled += ShortFigure(*row);
      left.remove_prefix(close + 1);
    }
    item.answer = std::move(filled);
  }
  return {};
}

}  // namespace reproduce
}  // namespace sharewell::research
