#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/chart/svg.h"
#include "report/text/format.h"
#include "research/pages/evaluation.h"

namespace sharewell::research {
namespace {

constexpr std::string_view kUtilisation = "busy";
constexpr std::size_t kMostBars = 12;

// The families with most rows have a colour of their own; all others share the grey.
std::vector<std::string> Coloured(const Evaluation& in) {
  std::map<std::string, std::size_t> counts;
  for (const EvaluatedRow& row : in.rows) ++counts[row.family];
  std::vector<std::pair<std::string, std::size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(order.size(), report::kChartColours); ++i) {
    out.push_back(order[i].first);
  }
  return out;
}

std::string InWords(std::string_view figure) {
  if (figure == "busy_seconds") return "busy time";
  if (figure == "step_seconds") return "step time";
  if (figure == "gpu_memory") return "GPU memory";
  return std::string(figure);
}

}  // namespace

std::string UtilisationSvg(const Evaluation& in) {
  report::Scatter chart;
  chart.title = "GPU utilisation, predicted against measured";
  chart.x = {"measured, %", 0, 100};
  chart.y = {"predicted, %", 0, 100};
  chart.diagonal = true;
  const std::size_t last = in.learners.empty() ? 0 : in.learners.size() - 1;
  if (!in.learners.empty()) {
    const FigureErrors* errors = in.learners[last].Find(kUtilisation);
    chart.subtitle =
        fmt::format("learner {}, {}; RMSLE {}", in.learners[last].learner,
                    in.split == HoldBack::kFamily ? "its family held out"
                    : in.split == HoldBack::kGpu  ? "its GPU model held out"
                                                  : "held out at random",
                    errors == nullptr ? report::kUnknown : report::Or(errors->rmsle, [](double v) {
                      return fmt::format("{:.3f}", v);
                    }));
  }
  const std::vector<std::string> coloured = Coloured(in);
  for (std::size_t i = 0; i < coloured.size(); ++i) chart.keys.push_back({coloured[i], i});
  if (in.families > coloured.size()) {
    chart.keys.push_back(
        {fmt::format("{} others", in.families - coloured.size()), report::kChartColours});
  }
  for (const HeldOutValue& value : in.values) {
    if (value.learner != last || value.figure != kUtilisation) continue;
    const EvaluatedRow& row = in.rows[value.row];
    const auto colour = static_cast<std::size_t>(
        std::find(coloured.begin(), coloured.end(), row.family) - coloured.begin());
    chart.points.push_back(
        {100 * value.actual, 100 * value.predicted.median,
         colour < coloured.size() ? colour : report::kChartColours,
         fmt::format("{} ({}), batch {}, {}, {} workers: measured {:.0f} %, predicted {:.0f} %",
                     row.workload, row.family, row.batch, row.precision, row.workers,
                     100 * value.actual, 100 * value.predicted.median)});
  }
  // Grey ones first, so that they hide nobody.
  std::stable_sort(
      chart.points.begin(), chart.points.end(),
      [](const report::ChartPoint& a, const report::ChartPoint& b) { return a.colour > b.colour; });
  return report::ScatterSvg(chart);
}

std::string ImportanceSvg(const Evaluation& in) {
  if (in.importance.empty()) return "";
  report::Bars chart;
  chart.title = "What corrects the arithmetic";
  chart.subtitle =
      "boosted trees on all rows: share of what their splits gained, by feature (the first of "
      "many)";
  for (const Importance& importance : in.importance) {
    report::BarPanel panel{InWords(importance.figure), {}};
    for (std::size_t i = 0; i < std::min(kMostBars, importance.features.size()); ++i) {
      const FeatureShare& feature = importance.features[i];
      panel.bars.push_back({feature.feature, feature.share, report::Percent(feature.share)});
    }
    chart.panels.push_back(std::move(panel));
  }
  return report::BarsSvg(chart);
}

}  // namespace sharewell::research
