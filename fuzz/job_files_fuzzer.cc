// Any bytes as what a job's folder holds: lines of steps and of metrics, a spec, an exit, a
// count of steps, metrics.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/local/run/job_folder.h"
#include "platform/files/metric_lines.h"
#include "platform/files/step_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sharewell::engine::JobSpec;
  using sharewell::platform::StepLines;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Wherever the bytes are cut, the count is the same and never falls.
  StepLines whole, cut;
  whole.Count(text.data(), text.size());
  std::int64_t before = 0;
  for (std::size_t at = 0; at < size;) {
    const std::size_t n = 1 + data[at] % 7;
    const std::string_view piece = text.substr(at, n);
    cut.Count(piece.data(), piece.size());
    if (cut.steps() < before) __builtin_trap();
    before = cut.steps();
    at += n;
  }
  if (whole.steps() != cut.steps()) __builtin_trap();
  // So are the metrics, each of which is one that may be kept.
  sharewell::platform::MetricLines metrics, cut_metrics;
  metrics.Read(text.data(), size, 1);
  for (std::size_t at = 0; at < size; ++at) cut_metrics.Read(text.data() + at, 1, 1);
  if (metrics.count() != cut_metrics.count()) __builtin_trap();
  for (std::size_t i = 0; i < metrics.count(); ++i) {
    const auto &one = metrics[i], &same = cut_metrics[i];
    if (one.value != same.value || one.step != same.step) __builtin_trap();
    const auto step = one.step < 0 ? std::nullopt : std::optional(one.step);
    if (!sharewell::core::IsToldMetric({one.name, one.at, one.value, step})) __builtin_trap();
  }
  if (const auto told = sharewell::engine::ParseMetrics(text)) {
    for (const auto& one : *told) {
      if (!sharewell::core::IsToldMetric(one)) __builtin_trap();
    }
  }
  if (const auto spec = JobSpec::Parse(text)) {
    if (spec->Bytes() != text) __builtin_trap();
  }
  if (const auto steps = sharewell::engine::ParseSteps(text); steps && !(*steps >= 0)) {
    __builtin_trap();
  }
  [[maybe_unused]] const auto exit = sharewell::engine::ParseExit(text);
  return 0;
}
