#include "research/pages/yeung_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/numbers/statistics.h"
#include "report/chart/svg.h"
#include "report/text/format.h"

namespace sharewell::research {
namespace {

constexpr double kMostSlowdown = 300;  // percent: the few beyond are drawn at the edge
constexpr double kMostUtilisation = 300;

std::string Correlation(const std::optional<double>& value) {
  return report::Or(value, [](double v) { return fmt::format("{:.2f}", v); });
}

}  // namespace

std::string FlopsUtilisationSvg(const BesideYeung& in) {
  report::Scatter chart;
  chart.title = "FLOPs and GPU utilisation (Yeung et al., figure 2b)";
  std::vector<double> flops, busy;
  for (const auto& one : in.workloads) {
    if (one.flops <= 0) continue;
    flops.push_back(std::log10(one.flops));
    busy.push_back(100 * one.utilisation);
    chart.points.push_back(
        {flops.back(), busy.back(), 0,
         fmt::format("{}: {:.3g} FLOPs, {:.0f} %", one.workload, one.flops, busy.back())});
  }
  chart.subtitle = fmt::format("{} workloads alone; rank correlation {}", flops.size(),
                               Correlation(core::Spearman(flops, busy)));
  chart.x = {"FLOPs of a forward pass, log10", 5, 14};
  if (!flops.empty()) {
    const auto [least, most] = std::minmax_element(flops.begin(), flops.end());
    chart.x.least = std::floor(*least);
    chart.x.most = std::max(std::ceil(*most), chart.x.least + 1);
  }
  chart.y = {"GPU utilisation, %", 0, 100};
  return report::ScatterSvg(chart);
}

std::string UtilisationSlowdownSvg(const std::vector<MeasuredSlowdown>& points) {
  report::Scatter chart;
  chart.title = "Slowdown and the sum of utilisation (Yeung et al., figure 5a)";
  const auto correlation = CorrelationOf(points);
  chart.subtitle =
      fmt::format("{} jobs beside others under MPS; correlation {}, of ranks {}", points.size(),
                  Correlation(correlation.pearson), Correlation(correlation.spearman));
  chart.x = {"sum of the jobs' GPU utilisation alone, %", 0, kMostUtilisation};
  chart.y = {"slowdown of a job, %", -50, kMostSlowdown};
  constexpr std::size_t kPair = 0, kMore = 1, kShares = 2;
  for (const MeasuredSlowdown& point : points) {
    chart.points.push_back(
        {100 * point.utilisation, 100 * point.slowdown,
         !point.all_sms    ? kShares
         : point.jobs == 2 ? kPair
                           : kMore,
         fmt::format("{} beside {}: {:+.0f} %", point.job, point.beside, 100 * point.slowdown)});
  }
  chart.keys = {{"two jobs", kPair}, {"three jobs", kMore}, {"with shares of the SMs", kShares}};
  return report::ScatterSvg(chart);
}

}  // namespace sharewell::research
