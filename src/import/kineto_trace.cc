#include "import/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/numbers/statistics.h"

namespace sharewell::imports {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr double kHostBound = 0.3;  // of the time: from here on it is called bound by the host

double Seconds(TraceSpan span) { return static_cast<double>(span.end - span.begin) * kNanosecond; }

void AddFigure(core::ProfileRecord& record, std::string_view metric, std::string_view instance,
               std::string_view unit, std::vector<double> values) {
  if (values.empty()) return;
  core::Figure& figure = record.figures.emplace_back();
  figure.metric = metric;
  figure.instance = instance;
  figure.unit = unit;
  figure.readings = static_cast<std::int64_t>(values.size());
  std::sort(values.begin(), values.end());
  figure.mean = *core::Mean(values);
  figure.least = values.front();
  figure.most = values.back();
  double squares = 0;
  for (const double value : values) squares += (value - figure.mean) * (value - figure.mean);
  figure.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  figure.median = *core::Quantile(values, 0.5);
  figure.p95 = *core::Quantile(std::move(values), 0.95);
}

struct DeviceTime {
  double kernels = 0;           // seconds with at least one kernel
  std::vector<double> waiting;  // gaps that ended with work which the host launched in the gap
};

// `activities` of one device by begin; `launches` by correlation.
DeviceTime Measure(std::span<const TraceActivity> activities,
                   const std::vector<std::pair<std::int64_t, std::int64_t>>& launches) {
  DeviceTime out;
  std::int64_t kernels_end = activities.front().span.begin;
  std::int64_t busy_end = kernels_end;
  for (const TraceActivity& a : activities) {
    if (a.span.begin > busy_end && a.correlation >= 0) {
      const auto launch =
          std::lower_bound(launches.begin(), launches.end(), std::pair(a.correlation, INT64_MIN));
      // Nothing was queued when the GPU fell idle: it waited for the host.
      if (launch != launches.end() && launch->first == a.correlation &&
          launch->second >= busy_end) {
        out.waiting.push_back(Seconds({busy_end, a.span.begin}));
      }
    }
    busy_end = std::max(busy_end, a.span.end);
    if (!a.kernel) continue;
    const std::int64_t from = std::max(a.span.begin, kernels_end);
    if (a.span.end > from) out.kernels += Seconds({from, a.span.end});
    kernels_end = std::max(kernels_end, a.span.end);
  }
  return out;
}

// Answers how many devices there were.
std::size_t AddDevices(KinetoTrace& trace, double window, core::ProfileRecord& record) {
  auto& all = trace.activities;
  std::sort(all.begin(), all.end(), [](const TraceActivity& a, const TraceActivity& b) {
    return a.device != b.device ? a.device < b.device : a.span.begin < b.span.begin;
  });
  std::sort(trace.launches.begin(), trace.launches.end());
  std::vector<double> busy, waiting;
  double waited = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].device == all[begin].device) ++end;
    const DeviceTime time = Measure({&all[begin], end - begin}, trace.launches);
    busy.push_back(std::min(time.kernels / window, 1.0));
    waiting.insert(waiting.end(), time.waiting.begin(), time.waiting.end());
    waited += std::accumulate(time.waiting.begin(), time.waiting.end(), 0.0) / window;
    AddFigure(record, "trace_gpu_busy_ratio", std::to_string(all[begin].device), "ratio",
              {busy.back()});
    begin = end;
  }
  if (busy.empty()) return 0;
  record.profile.busy = core::Mean(busy);
  waited = std::min(waited / static_cast<double>(busy.size()), 1.0);
  if (trace.launches.empty()) {
    record.notes.emplace_back("no CUDA calls in the trace: host-launch gaps are not known");
    return busy.size();
  }
  AddFigure(record, "trace_launch_gap_ratio", "", "ratio", {waited});
  AddFigure(record, "trace_launch_gap_seconds", "", "seconds", std::move(waiting));
  if (waited >= kHostBound) {
    record.bound_by = fmt::format(
        "cpu: the GPU waited for the host's launches {:.0f} % of the time", waited * 100);
  }
  return busy.size();
}

void AddSteps(KinetoTrace& trace, core::ProfileRecord& record) {
  auto& steps = trace.steps;
  record.throughput_source = steps.empty() ? "none" : "trace";
  if (steps.empty()) {
    record.notes.emplace_back(
        "no steps: the loop does not call the profiler's step(), so the rate is not known");
    return;
  }
  std::sort(steps.begin(), steps.end(),
            [](const TraceSpan& a, const TraceSpan& b) { return a.begin < b.begin; });
  std::vector<double> seconds;
  for (const TraceSpan& step : steps) seconds.push_back(Seconds(step));
  const auto gaps = static_cast<double>(steps.size() - 1);
  const double between = Seconds({steps.front().begin, steps.back().begin});
  if (between > 0) {
    record.profile.steps_per_second = gaps / between;
  } else if (seconds[0] > 0) {
    record.profile.steps_per_second = static_cast<double>(seconds.size()) / seconds[0];
  }
  AddFigure(record, "trace_step_seconds", "", "seconds", std::move(seconds));
}

void AddCopies(KinetoTrace& trace, double window, core::ProfileRecord& record) {
  double host = 0;
  bool any = false;
  for (std::size_t i = 0; i < kCopyDirections.size(); ++i) {
    TraceCopies& copies = trace.copies[i];
    if (copies.copies == 0) continue;
    any = true;
    if (i < 2) host += copies.bytes;
    AddFigure(record, "trace_copied_bytes", kCopyDirections[i], "bytes", {copies.bytes});
    record.figures.back().readings = copies.copies;
    AddFigure(record, "trace_copy_bytes_per_second", kCopyDirections[i], "bytes_per_second",
              std::move(copies.rates));
    // Of all bytes over all time, not of the single copies: small ones would drown the others.
    if (copies.seconds > 0 && record.figures.back().metric == "trace_copy_bytes_per_second") {
      record.figures.back().mean = copies.bytes / copies.seconds;
    }
  }
  if (any) record.profile.pcie = core::BytesPerSecond(host / window);
}

// The mean kernel, and how many of them a step has on one GPU. The profiler slows the host down,
// not the kernels.
void AddKernels(std::size_t devices, std::size_t steps, core::ProfileRecord& record) {
  const core::KernelFigure whole = WholeOf(record.kernels);
  if (whole.launches <= 0) return;
  const auto launches = static_cast<double>(whole.launches);
  if (whole.time.value > 0) record.profile.kernel_time = whole.time / launches;
  if (steps > 0 && devices > 0) {
    record.profile.kernels = launches / static_cast<double>(steps * devices);
  }
}

}  // namespace

void KinetoTrace::Extend(TraceSpan more) {
  if (!any) {
    span = more;
    any = true;
  }
  span.begin = std::min(span.begin, more.begin);
  span.end = std::max(span.end, more.end);
}

core::ProfileRecord RecordOf(KinetoTrace&& trace) {
  core::ProfileRecord record;
  const double window = std::max(Seconds(trace.span), kNanosecond);
  record.window = core::Seconds(window);
  record.profile.gpu = trace.gpu;
  if (!trace.gpu.empty()) record.environment.emplace_back("gpu", trace.gpu);
  for (auto& fact : trace.facts) record.environment.push_back(std::move(fact));
  AddCopies(trace, window, record);
  const std::size_t devices = AddDevices(trace, window, record);
  AddSteps(trace, record);
  if (trace.blocks_seconds > 0) {
    AddFigure(record, "trace_blocks_per_sm", "", "1",
              {trace.blocks_weighted / trace.blocks_seconds});
    AddFigure(record, "trace_sm_covered_ratio", "", "ratio",
              {trace.covered_weighted / trace.blocks_seconds});
  }
  record.kernels = std::move(trace.kernels).Take();
  AddKernels(devices, trace.steps.size(), record);
  for (core::Figure& figure : FiguresOf(record.kernels))
    record.figures.push_back(std::move(figure));
  std::stable_sort(record.figures.begin(), record.figures.end(),
                   [](const core::Figure& a, const core::Figure& b) {
                     return std::pair(a.metric, a.instance) < std::pair(b.metric, b.instance);
                   });
  if (trace.cut) {
    record.notes.push_back(fmt::format(
        "the trace was cut short: figures are of the {} events that could be read", trace.events));
  }
  if (trace.broken > 0) {
    record.notes.push_back(
        fmt::format("{} events are no JSON and were left out, the first at line {}", trace.broken,
                    trace.broken_line));
  }
  record.notes.emplace_back("measured under the profiler, which slows the host side down");
  return record;
}

}  // namespace sharewell::imports
