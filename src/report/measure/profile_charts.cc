#include "report/measure/profile_charts.h"

#include <cmath>
#include <utility>

#include "report/measure/sample_charts.h"
#include "report/text/json.h"

namespace sharewell::report {

bool IsInProfileCharts(std::string_view metric) { return IsDrawn(TakayamaCharts(), metric); }

store::TimeRange ProfileRange(const core::ProfileRecord& record) {
  const double seconds = (record.warmup + record.window).value + 1;
  return {record.created,
          record.created + static_cast<core::UnixMillis>(std::llround(seconds * 1e3))};
}

std::string ProfileNode(const core::ProfileRecord& record) {
  for (const auto& [name, value] : record.environment) {
    if (name == "node") return value;
  }
  return {};
}

ProfileCharts DrawProfileCharts(const core::ProfileRecord& record,
                                const std::vector<SeriesRead>& series) {
  SampleCharts drawn = DrawSamples(TakayamaCharts(), record.name, ProfileRange(record), series);
  ProfileCharts out;
  for (const SampleChart& chart : drawn.charts) {
    out.charts.push_back({chart.name, LineChartSvg(chart.chart)});
  }
  out.missing = std::move(drawn.missing);
  return out;
}

std::string ProfileChartFilesJson(const std::vector<std::string>& files) {
  return JsonReport([&](json::Writer& out) { out.Field("files", files); });
}

}  // namespace sharewell::report
