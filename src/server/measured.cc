#include "server/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "collect/metrics/job_metrics.h"
#include "core/job_label.h"
#include "platform/clock/wall_clock.h"
#include "report/html/job_report.h"
#include "report/measure/sample_charts.h"
#include "report/measure/series.h"
#include "report/text/json.h"
#include "store/job_store.h"
#include "store/store.h"

namespace sharewell::server {
namespace {

using core::Result;
using report::Json;
using report::OrNull;

constexpr std::size_t kMostPairs = 5000;  // of this server's own, the newest

std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Which of the node's series tell of the job. Asked for one by one: of a thousand GPUs, or of
// thousands of jobs, only this one's are wanted.
std::vector<store::SeriesFilter> FiltersFor(const core::JobRecord& job, const std::string& node) {
  std::vector<store::SeriesFilter> filters;
  const auto add = [&](std::string_view metric, std::optional<std::string> instance) {
    store::SeriesFilter filter;
    if (!node.empty()) filter.node = node;
    filter.metric = std::string(metric);
    filter.instance = std::move(instance);
    filter.job = "";
    filters.push_back(std::move(filter));
  };
  std::set<std::string_view> met;
  for (const auto kinds : {report::TakayamaCharts(), report::OtherCharts()}) {
    for (const report::SampleChartKind& kind : kinds) {
      for (const report::DrawnMetric& drawn : kind.drawn) {
        for (const std::string_view metric : {drawn.metric, drawn.whole}) {
          if (metric.empty() || metric.starts_with("job_") || !met.insert(metric).second) continue;
          if (!metric.starts_with("gpu_")) add(metric, std::nullopt);
          for (const core::GivenGpu& gpu : job.gpus) {
            if (!metric.starts_with("gpu_")) break;
            add(metric, fmt::format("{}", gpu.index));
            add(metric, gpu.uuid);
          }
        }
      }
    }
  }
  store::SeriesFilter own;
  if (!node.empty()) own.node = node;
  own.job = core::JobLabel(job.number);
  filters.push_back(std::move(own));
  return filters;
}

bool Tells(const core::JobRecord& job, const store::SeriesInfo& info, store::TimeRange range) {
  const store::SeriesKey& key = info.key;
  if (!report::IsOfJob(job, key)) return false;
  if (!report::IsDrawn(report::TakayamaCharts(), key.metric) &&
      !report::IsDrawn(report::OtherCharts(), key.metric) &&
      !key.metric.starts_with("job_gpu_sm") && key.metric != collect::kJobSpeed.name) {
    return false;
  }
  if (key.metric == "cpu_frequency_hertz") return false;  // one for each of hundreds of CPUs
  return info.last >= range.from && info.first < range.to;
}

// As people write it; folders, which may be anybody's own, are left out.
std::string WorkloadName(const std::string& key) {
  constexpr std::string_view kProfile = "profile:";
  if (key.starts_with(kProfile)) return key.substr(kProfile.size());
  const auto begin = key.find('\0');
  std::string name = begin == std::string::npos ? key : key.substr(begin + 1);
  std::replace(name.begin(), name.end(), '\0', ' ');
  return name;
}

std::string WorkloadName(const core::Workload& workload) {
  std::string name = workload.name;
  if (workload.batch != 0) name += fmt::format(" b{}", workload.batch);
  if (!workload.precision.empty()) name += " " + workload.precision;
  return name;
}

Json PairJson(const std::string& source, const std::string& gpu, const std::string& a,
              const std::string& b) {
  return {{"source", source}, {"gpu", gpu}, {"a", a}, {"b", b}};
}

void AddShipped(Json& pairs) {
  const core::Measurements all = catalogue::BuiltinMeasurements();
  std::map<std::string, const core::Profile*> alone;
  for (const core::Profile& profile : all.profiles) {
    alone.emplace(WorkloadName(profile.workload), &profile);
  }
  for (const core::PairMeasurement& pair : all.pairs) {
    const std::string a = WorkloadName(pair.a), b = WorkloadName(pair.b);
    const auto speed = [&](const std::string& name, double together,
                           std::optional<double> rate) -> std::optional<double> {
      const auto found = alone.find(name);
      if (!rate && found != alone.end()) rate = found->second->steps_per_second;
      if (!rate || *rate <= 0) return std::nullopt;
      return together / *rate;
    };
    const auto found = alone.find(a);
    Json row = PairJson(
        "shipped", !pair.gpu.empty() || found == alone.end() ? pair.gpu : found->second->gpu, a, b);
    row["speed_a"] = pair.fits ? OrNull(speed(a, pair.steps_per_second_a, pair.alone_a)) : nullptr;
    row["speed_b"] = pair.fits ? OrNull(speed(b, pair.steps_per_second_b, pair.alone_b)) : nullptr;
    row["fits"] = pair.fits;
    row["time_ms"] = nullptr;
    pairs.push_back(std::move(row));
  }
}

}  // namespace

Result<std::string> JobSamplesJson(const std::string& place, const std::string& node,
                                   const core::JobRecord& job, std::size_t most) {
  auto store = store::Open(place);
  RETURN_IF_ERROR(store);
  const store::TimeRange range = report::JobRange(job, platform::UnixNow());
  std::vector<store::SeriesInfo> listed;
  for (const store::SeriesFilter& filter : FiltersFor(job, node)) {
    auto found = (*store)->List(filter);
    RETURN_IF_ERROR(found);
    listed.insert(listed.end(), found->begin(), found->end());
  }
  std::sort(listed.begin(), listed.end(),
            [](const store::SeriesInfo& a, const store::SeriesInfo& b) { return a.key < b.key; });
  Json json = {{"schema", report::kSchema},
               {"number", job.number},
               {"from_ms", range.from},
               {"to_ms", range.to}};
  Json& series = json["series"] = Json::array();
  for (const store::SeriesInfo& info : listed) {
    if (!Tells(job, info, range)) continue;
    const auto buckets = (*store)->Chart(info.key, range, most);
    RETURN_IF_ERROR(buckets);
    Json points = Json::array();
    for (const report::SeriesValue& value : report::SeriesValues(info.kind, *buckets)) {
      points.push_back({value.time, OrNull(value.value)});
    }
    if (points.empty()) continue;
    const bool counter = info.kind == core::MetricKind::kCounter;
    series.push_back({{"metric", info.key.metric},
                      {"instance", info.key.instance},
                      {"of_job", !info.key.job.empty()},
                      {"unit", info.unit + (counter ? "/s" : "")},
                      {"points", std::move(points)}});
  }
  return Line(json);
}

Result<std::string> PairsJson(const std::string& place) {
  auto jobs = store::OpenJobs(place);
  RETURN_IF_ERROR(jobs);
  auto runs = (*jobs)->SharedRuns();
  RETURN_IF_ERROR(runs);
  std::stable_sort(
      runs->begin(), runs->end(),
      [](const core::SharedRun& a, const core::SharedRun& b) { return a.time > b.time; });
  if (runs->size() > kMostPairs) runs->resize(kMostPairs);
  Json json = {{"schema", report::kSchema}};
  Json& pairs = json["pairs"] = Json::array();
  for (const core::SharedRun& run : *runs) {
    Json row = PairJson("here", run.gpu_model, WorkloadName(run.a), WorkloadName(run.b));
    row["speed_a"] = run.fits ? OrNull(run.speed_a) : nullptr;
    row["speed_b"] = run.fits ? OrNull(run.speed_b) : nullptr;
    row["fits"] = run.fits;
    row["time_ms"] = run.time;
    pairs.push_back(std::move(row));
  }
  AddShipped(pairs);
  return Line(json);
}

}  // namespace sharewell::server
