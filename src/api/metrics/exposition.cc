#include "api/metrics/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "api/metrics/escape.h"

namespace sharewell::api {
namespace {

using core::Metric;
using core::MetricKind;
using core::Reading;
using std::chrono::nanoseconds;

constexpr int kStaleAfter = 3;  // intervals
constexpr nanoseconds kLookAgain = std::chrono::seconds(60);
constexpr nanoseconds kLookForPodsAgain = std::chrono::seconds(5);
constexpr std::string_view kOwn = "sharewell_";
constexpr std::string_view kGpu = "gpu";
constexpr std::string_view kPod = "pod/";

// What a value is counted in once it is scaled for export.
std::string UnitOf(const Metric& metric) {
  struct Known {
    std::string_view unit;
    double scale;
    std::string_view is;
  };
  static constexpr Known kScaled[] = {
      {"ratio", 100, "percent"},
      {"bytes", 1.0 / 1048576, "MiB"},
      {"hertz", 1e-6, "MHz"},
      {"joules", 1000, "mJ"},
      {"seconds", 1e9, "ns"},
      {"bytes_per_second", 1.0 / 1024, "KiB/s"},
      {"bytes_per_second", 1, "bytes/s"},
  };
  for (const Known& known : kScaled) {
    if (known.unit == metric.unit && known.scale == metric.export_scale) {
      return std::string(known.is);
    }
  }
  if (metric.export_scale == 1) return std::string(metric.unit);
  return fmt::format("{} x {}", metric.unit, metric.export_scale);
}

struct Family {
  MetricKind kind = MetricKind::kGauge;
  std::vector<const Metric*> metrics;  // several share a name where a label tells them apart
  std::string help;                    // of what is no metric
  std::vector<std::pair<std::string, double>> samples;  // labels, value
};
using Families = std::map<std::string, Family>;

class Labels {
 public:
  Labels& Add(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    return Raw(fmt::format("{}=\"{}\"", name, LabelValue(value)));
  }
  Labels& Raw(std::string_view labels) {
    if (!text_.empty() && !labels.empty()) text_ += ',';
    text_ += labels;
    return *this;
  }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

// 3 % is 3, not 3.0000000000000004.
double Scaled(double value, double scale) {
  if (scale == 1) return value;
  return std::strtod(fmt::format("{:.13g}", value * scale).c_str(), nullptr);
}

std::string OwnName(const Metric& metric) {
  std::string name = std::string(kOwn) + std::string(metric.name);
  if (metric.kind == MetricKind::kCounter && !name.ends_with("_total")) name += "_total";
  return name;
}

class Page {
 public:
  Page(const std::string& hostname, const std::vector<GpuLabels>& gpus,
       const std::map<std::string, PodLabels>& pods)
      : hostname_(hostname), gpus_(gpus), pods_(pods) {}

  void Add(const Reading& reading) {
    const Metric& metric = *reading.metric;
    if (!std::isfinite(reading.value)) return;
    const bool gpu = metric.instance == kGpu;
    // Series of devices stay free of jobs: another's name is only for what is another's.
    const bool foreign =
        !metric.exported.empty() && (reading.job.empty() || metric.exported.starts_with(kOwn));
    Labels labels;
    if (gpu && foreign && !metric.exported.starts_with(kOwn)) {
      AddDevice(labels, reading.instance);
    } else {
      AddJob(labels, reading.job);
      if (gpu) {
        AddJobGpu(labels, reading.instance);
        if (!reading.job.empty()) seats_.emplace(reading.job, reading.instance);
      } else {
        AddInstance(labels, metric, reading.instance);
      }
      if (gpu && !reading.job.empty()) {
        labels.Add("basis", metric.basis == core::Basis::kMeasured ? "measured" : "apportioned");
      }
    }
    if (foreign) labels.Raw(metric.export_labels);
    Family& family = families_[foreign ? std::string(metric.exported) : OwnName(metric)];
    if (family.metrics.empty()) family.kind = metric.kind;
    if (std::find(family.metrics.begin(), family.metrics.end(), &metric) == family.metrics.end()) {
      family.metrics.push_back(&metric);
    }
    family.samples.emplace_back(
        std::move(labels).Take(),
        foreign ? Scaled(reading.value, metric.export_scale) : reading.value);
  }

  void Add(std::string_view name, MetricKind kind, std::string_view help, Labels labels,
           double value) {
    Family& family = families_[std::string(kOwn) + std::string(name)];
    family.kind = kind;
    family.help = help;
    family.samples.emplace_back(std::move(labels).Take(), value);
  }

  std::string Text() {
    for (const auto& [job, gpu] : seats_) {
      Labels labels;
      AddJob(labels, job);
      AddJobGpu(labels, gpu);
      Add("job_gpu_info", MetricKind::kGauge, "Which jobs are on which GPU; always 1.",
          std::move(labels), 1);
    }
    std::string out;
    auto at = std::back_inserter(out);
    for (auto& [name, family] : families_) {
      fmt::format_to(at, "# HELP {} {}\n# TYPE {} {}\n", name, HelpText(HelpOf(family)), name,
                     family.kind == MetricKind::kCounter ? "counter" : "gauge");
      std::set<std::string_view> seen;  // the same series twice would cost the whole page
      for (const auto& [labels, value] : family.samples) {
        if (!seen.insert(labels).second) continue;
        out += name;
        if (!labels.empty()) fmt::format_to(at, "{{{}}}", labels);
        fmt::format_to(at, " {}\n", value);
      }
    }
    return out;
  }

 private:
  static std::string HelpOf(const Family& family) {
    if (family.metrics.empty()) return family.help;
    const auto with_unit = [](const Metric& metric) {
      const bool stopped = metric.help.ends_with('.');
      const std::string unit = UnitOf(metric);
      return fmt::format("{}{}{}", metric.help, stopped ? "" : ".",
                         unit == "1" ? "" : fmt::format(" Unit: {}.", unit));
    };
    if (family.metrics.size() == 1) return with_unit(*family.metrics.front());
    std::string help;
    for (const Metric* metric : family.metrics) {
      const std::string_view which = metric->export_labels.empty()
                                         ? metric->basis == core::Basis::kMeasured
                                               ? std::string_view("measured")
                                               : std::string_view("apportioned")
                                         : metric->export_labels;
      help += fmt::format("{}{}: {}", help.empty() ? "" : " ", which, with_unit(*metric));
    }
    return help;
  }

  const GpuLabels* Find(std::string_view instance) const {
    const auto it = std::find_if(gpus_.begin(), gpus_.end(),
                                 [&](const GpuLabels& g) { return g.instance == instance; });
    return it == gpus_.end() ? nullptr : &*it;
  }

  // "0:3" is instance 3 of GPU 0.
  static std::pair<std::string_view, std::string_view> Split(std::string_view instance) {
    const auto colon = instance.find(':');
    if (colon == std::string_view::npos) return {instance, {}};
    return {instance.substr(0, colon), instance.substr(colon + 1)};
  }

  void AddDevice(Labels& labels, std::string_view instance) const {
    const auto [index, part] = Split(instance);
    const GpuLabels* gpu = Find(index);
    labels.Add("gpu", index);
    if (gpu != nullptr) {
      labels.Add("UUID", gpu->uuid).Add("pci_bus_id", gpu->pci_bus_id);
      labels.Add("device", gpu->device).Add("modelName", gpu->model);
    }
    labels.Add("GPU_I_ID", part).Add("hostname", hostname_);
  }

  void AddJob(Labels& labels, const std::string& job) const {
    labels.Add("job", job);
    const auto pod = pods_.find(job);
    if (pod == pods_.end()) return;
    labels.Add("namespace", pod->second.name_space).Add("pod", pod->second.name);
  }

  void AddJobGpu(Labels& labels, std::string_view instance) const {
    const auto [index, part] = Split(instance);
    labels.Add("gpu", index);
    if (const GpuLabels* gpu = Find(index)) labels.Add("UUID", gpu->uuid);
    labels.Add("GPU_I_ID", part);
  }

  static void AddInstance(Labels& labels, const Metric& metric, std::string_view instance) {
    // node_exporter names the chip and its sensor apart.
    const auto slash = instance.find('/');
    if (metric.instance == "sensor" && slash != std::string_view::npos) {
      labels.Add("chip", instance.substr(0, slash)).Add("sensor", instance.substr(slash + 1));
    } else if (!metric.instance.empty()) {
      labels.Add(metric.instance, instance);
    }
  }

  const std::string& hostname_;
  const std::vector<GpuLabels>& gpus_;
  const std::map<std::string, PodLabels>& pods_;
  Families families_;
  std::set<std::pair<std::string, std::string>> seats_;  // job, gpu
};

void AddAgent(Page& page, const AgentFigures& agent) {
  constexpr auto kGauge = MetricKind::kGauge;
  constexpr auto kCounter = MetricKind::kCounter;
  for (const control::CollectorState& state : agent.collectors) {
    if (state.asked == 0) continue;
    Labels name;
    name.Add("collector", state.name);
    page.Add("collector_up", kGauge, "1: the collector gave readings when it was last asked.", name,
             state.Up() ? 1 : 0);
    page.Add("collector_duration_seconds", kGauge, "How long its last answer took.", name,
             state.last_duration.value);
    page.Add("collector_errors_total", kCounter, "Answers that were an error, in part or wholly.",
             name, static_cast<double>(state.errors));
    page.Add("collector_skipped_total", kCounter, "Readings left out since others took too long.",
             name, static_cast<double>(state.skipped));
  }
  page.Add("agent_cpu_seconds_total", kCounter, "CPU time of this agent.", {},
           agent.cost.cpu.value);
  if (agent.cost.resident) {
    page.Add("agent_resident_bytes", kGauge, "Resident memory of this agent.", {},
             agent.cost.resident->value);
  }
  if (agent.store) {
    page.Add("store_up", kGauge, "1: the last attempt to write to the store succeeded.", {},
             agent.store->up ? 1 : 0);
    page.Add("store_samples_written_total", kCounter, "Samples that are durable in the store.", {},
             static_cast<double>(agent.store->written));
    page.Add("store_samples_dropped_total", kCounter, "Samples lost while the store was away.", {},
             static_cast<double>(agent.store->dropped));
    page.Add("store_waiting_bytes", kGauge, "Memory of samples that wait to be written.", {},
             static_cast<double>(agent.store->waiting_bytes));
  }
  Labels version;
  version.Add("version", agent.version);
  page.Add("build_info", kGauge, "Which program this is; always 1.", version, 1);
}

}  // namespace

Exposition::Exposition(std::string hostname, FindGpus find_gpus, control::Clock& clock,
                       FindPods find_pods)
    : hostname_(std::move(hostname)),
      find_gpus_(std::move(find_gpus)),
      clock_(clock),
      find_pods_(std::move(find_pods)) {}

void Exposition::LearnGpus(const core::Batch& batch) {
  const bool all_known =
      std::all_of(batch.readings.begin(), batch.readings.end(),
                  [this](const Reading& r) SHAREWELL_REQUIRES(mutex_) {
                    return r.metric->instance != kGpu ||
                           std::any_of(gpus_.begin(), gpus_.end(), [&](const GpuLabels& gpu) {
                             return r.instance.substr(0, r.instance.find(':')) == gpu.instance;
                           });
                  });
  const nanoseconds now = clock_.Steady();
  if (all_known || (looked_for_gpus_ && now - *looked_for_gpus_ < kLookAgain)) return;
  looked_for_gpus_ = now;
  gpus_ = find_gpus_();
}

void Exposition::LearnPods(const core::Batch& batch) {
  const bool all_known =
      !find_pods_ || std::all_of(batch.readings.begin(), batch.readings.end(),
                                 [this](const Reading& r) SHAREWELL_REQUIRES(mutex_) {
                                   return !r.job.starts_with(kPod) || pods_.contains(r.job);
                                 });
  const nanoseconds now = clock_.Steady();
  if (all_known || (looked_for_pods_ && now - *looked_for_pods_ < kLookForPodsAgain)) return;
  looked_for_pods_ = now;
  pods_ = find_pods_();
}

void Exposition::Take(const control::CollectorState& state,
                      const std::shared_ptr<const core::Batch>& batch) {
  const platform::MutexLock lock(mutex_);
  if (!state.Up()) {
    latest_.erase(state.name);
    return;
  }
  LearnGpus(*batch);
  LearnPods(*batch);
  const auto interval = nanoseconds(std::llround(state.interval.value * 1e9));
  latest_[state.name] = {batch, clock_.Steady(), interval * kStaleAfter};
}

std::string Exposition::Text(const AgentFigures& agent) const {
  const platform::MutexLock lock(mutex_);
  Page page(hostname_, gpus_, pods_);
  const nanoseconds now = clock_.Steady();
  for (const auto& [name, latest] : latest_) {
    if (now - latest.taken > latest.keep) continue;
    for (const Reading& reading : latest.batch->readings) page.Add(reading);
  }
  AddAgent(page, agent);
  return page.Text();
}

}  // namespace sharewell::api
