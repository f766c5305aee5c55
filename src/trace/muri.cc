#include "trace/muri.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "trace/assemble.h"

namespace sharewell::trace {

bool DetectMuri(std::string_view text) {
  return HasColumns(text, {"job_id", "num_gpu", "iterations", "iteration_time", "resource_time_1"});
}

core::Result<Trace> ReadMuri(std::string_view text, const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto id = csv.Require("job_id");
  const auto gpus = csv.Require("num_gpu");
  const auto submit = csv.Require("submit_time");
  const auto iterations = csv.Require("iterations");
  const auto model = csv.Require("model_name");
  const auto batch = csv.Require("batch_size");
  const auto iteration_time = csv.Require("iteration_time");
  const auto gpu_time = csv.Require("resource_time_1");
  constexpr double kMilliseconds = 1e-3;
  Trace trace{"muri", {}, {}};
  std::unordered_set<std::string> ids;
  trace.jobs.reserve(csv.ApproximateRows());
  while (csv.Next()) {
    TraceJob job;
    job.id = csv.RequiredText(id);
    job.gpus = static_cast<int>(csv.Integer(gpus, 0, kMostGpus));
    job.submit =
        core::Seconds(csv.Number(submit, {0, kSubmit.most / kMilliseconds}) * kMilliseconds);
    job.workload = core::Workload{std::string(csv.RequiredText(model)),
                                  static_cast<int>(csv.Integer(batch, 0, 1'000'000'000)), "", 0};
    const double step = csv.Number(iteration_time, {0, 1e12, true});
    const double seconds = csv.Number(iterations, {0, 1e15, true}) * step * kMilliseconds;
    const double on_gpu = csv.Number(gpu_time, {0, 1e12});
    if (!csv.ok()) break;
    if (seconds > kDuration.most) {
      csv.Fail(iterations, "times iteration_time is more than 1e10 seconds; are both in ms?");
    }
    job.duration = core::Seconds(seconds);
    job.busy = std::min(on_gpu / step, 1.0);
    if (!ids.insert(job.id).second) csv.Fail(id, "is the id of a job above; ids are unique");
    trace.jobs.push_back(std::move(job));
  }
  if (!csv.ok()) return csv.error();
  trace.remarks.emplace_back(
      "duration is iterations times iteration_time; the columns duration and priority are not "
      "used");
  return Assemble(std::move(trace), name);
}

}  // namespace sharewell::trace
