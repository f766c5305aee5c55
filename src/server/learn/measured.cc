#include "server/learn/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "collect/metrics/job_metrics.h"
#include "core/job/job_label.h"
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

constexpr std::size_t kMostPairs = 5000;  // of this server's own, the newest

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

std::string NameOfWorkload(const core::Workload& workload) {
  std::string name = workload.name;
  if (workload.batch != 0) name += fmt::format(" b{}", workload.batch);
  if (!workload.precision.empty()) name += " " + workload.precision;
  return name;
}

// Two workloads that ran together, here or where our own data were measured.
struct KnownPair {
  const char* source;
  std::string gpu, a, b;
  std::optional<double> speed_a, speed_b;
  bool fits = true;
  std::optional<core::UnixMillis> time;
  std::optional<core::Seconds> over;  // so long they were watched
};

void WritePair(json::Writer& out, const KnownPair& pair) {
  out.Object([&] {
    out.Field("source", pair.source);
    out.Field("gpu", pair.gpu);
    out.Field("a", pair.a);
    out.Field("b", pair.b);
    out.Field("speed_a", pair.fits ? pair.speed_a : std::nullopt);
    out.Field("speed_b", pair.fits ? pair.speed_b : std::nullopt);
    out.Field("fits", pair.fits);
    out.Field("time_ms", pair.time);
    out.Field("measured_seconds", pair.over);
  });
}

void WriteShipped(json::Writer& out) {
  const core::Measurements all = catalogue::BuiltinMeasurements();
  std::map<std::string, const core::Profile*> alone;
  for (const core::Profile& profile : all.profiles) {
    alone.emplace(NameOfWorkload(profile.workload), &profile);
  }
  for (const core::PairMeasurement& pair : all.pairs) {
    const std::string a = NameOfWorkload(pair.a), b = NameOfWorkload(pair.b);
    const auto speed = [&](const std::string& name, double together,
                           std::optional<double> rate) -> std::optional<double> {
      const auto found = alone.find(name);
      if (!rate && found != alone.end()) rate = found->second->steps_per_second;
      if (!rate || *rate <= 0) return std::nullopt;
      return together / *rate;
    };
    const auto found = alone.find(a);
    WritePair(out,
              {.source = "shipped",
               .gpu = !pair.gpu.empty() || found == alone.end() ? pair.gpu : found->second->gpu,
               .a = a,
               .b = b,
               .speed_a = speed(a, pair.steps_per_second_a, pair.alone_a),
               .speed_b = speed(b, pair.steps_per_second_b, pair.alone_b),
               .fits = pair.fits,
               .time = {},
               .over = {}});
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
  Result<void> read;
  std::string text = report::JsonLine([&](json::Writer& out) {
    out.Field("number", job.number);
    out.Field("from_ms", range.from);
    out.Field("to_ms", range.to);
    out.List("series", listed, [&](const store::SeriesInfo& info) {
      if (!read || !Tells(job, info, range)) return;
      const auto buckets = (*store)->Chart(info.key, range, most);
      if (!buckets) {
        read = tl::unexpected(buckets.error());
        return;
      }
      const auto points = report::SeriesValues(info.kind, *buckets);
      if (points.empty()) return;
      const bool counter = info.kind == core::MetricKind::kCounter;
      out.Object([&] {
        out.Field("metric", info.key.metric);
        out.Field("instance", info.key.instance);
        out.Field("of_job", !info.key.job.empty());
        out.Field("unit", info.unit + (counter ? "/s" : ""));
        out.List("points", points, [&](const report::SeriesValue& value) {
          out.Value(std::pair(value.time, value.value));
        });
      });
    });
  });
  RETURN_IF_ERROR(read);
  return text;
}

Result<std::string> PairsJson(const std::string& place) {
  auto jobs = store::OpenJobs(place);
  RETURN_IF_ERROR(jobs);
  auto runs = (*jobs)->SharedRuns();
  RETURN_IF_ERROR(runs);
  std::erase_if(*runs, [](const core::SharedRun& run) { return !run.IsMeasured(); });
  std::stable_sort(
      runs->begin(), runs->end(),
      [](const core::SharedRun& a, const core::SharedRun& b) { return a.time > b.time; });
  if (runs->size() > kMostPairs) runs->resize(kMostPairs);
  return report::JsonLine([&](json::Writer& out) {
    out.Key("pairs");
    out.List([&] {
      for (const core::SharedRun& run : *runs) {
        WritePair(out, {.source = "here",
                        .gpu = run.gpu_model,
                        .a = core::WorkloadName(run.a),
                        .b = core::WorkloadName(run.b),
                        .speed_a = run.speed_a,
                        .speed_b = run.speed_b,
                        .fits = run.fits,
                        .time = run.time,
                        .over = run.fits ? std::optional(run.over) : std::nullopt});
      }
      WriteShipped(out);
    });
  });
}

}  // namespace sharewell::server
