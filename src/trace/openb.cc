#include "trace/openb.h"

#include <fmt/format.h>

#include <cstdint>
#include <unordered_set>
#include <utility>

#include "platform/files/text.h"
#include "trace/assemble.h"

namespace sharewell::trace {

bool DetectOpenb(std::string_view text) {
  return HasColumns(text, {"name", "cpu_milli", "num_gpu", "gpu_milli", "creation_time"});
}

core::Result<Trace> ReadOpenb(std::string_view text, const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto id = csv.Require("name");
  const auto cpu = csv.Require("cpu_milli");
  const auto memory = csv.Require("memory_mib");
  const auto gpus = csv.Require("num_gpu");
  const auto gpu_milli = csv.Require("gpu_milli");
  const auto creation = csv.Require("creation_time");
  const auto deletion = csv.Require("deletion_time");
  const auto gpu_spec = csv.Find("gpu_spec");
  const auto phase = csv.Find("pod_phase");
  Trace trace{"openb", {}, {}};
  std::unordered_set<std::string> ids;
  std::size_t momentary = 0;
  std::size_t pending = 0;
  trace.jobs.reserve(csv.ApproximateRows());
  while (csv.Next()) {
    TraceJob job;
    job.id = csv.RequiredText(id);
    job.cores = csv.Number(cpu, {0, 1e9}) / 1000;
    job.host_memory = core::Bytes(csv.Number(memory, {0, 1e12}) * 1024 * 1024);
    job.gpus = static_cast<int>(csv.Integer(gpus, 0, kMostGpus));
    const std::int64_t milli = csv.Integer(gpu_milli, job.gpus == 0 ? 0 : 1, 1000);
    if (job.gpus == 1) job.busy = static_cast<double>(milli) / 1000;
    job.exclusive = milli == 1000;
    const double created = csv.Number(creation, kSubmit);
    const double deleted = csv.Number(deletion, kSubmit);
    for (const auto model : platform::SplitList(csv.Text(gpu_spec), '|')) {
      job.gpu_models.emplace_back(model);
    }
    if (csv.ok() && !ids.insert(job.id).second) csv.Fail(id, "is the name of a pod above");
    if (!csv.ok()) break;
    // openb has such pods: deleted in the second they were created, or clocks that disagree.
    if (deleted <= created) {
      ++momentary;
      continue;
    }
    if (deleted - created > kDuration.most)
      csv.Fail(deletion, "is more than 1e10 s after creation");
    if (csv.Text(phase) == "Pending") ++pending;
    job.submit = core::Seconds(created);
    job.duration = core::Seconds(deleted - created);
    trace.jobs.push_back(std::move(job));
  }
  if (!csv.ok()) return csv.error();
  trace.remarks.emplace_back("duration is the time from creation to deletion, waiting included");
  if (momentary > 0) {
    trace.remarks.push_back(
        fmt::format("{} pods were left out: deleted no later than they were created", momentary));
  }
  if (pending > 0) {
    trace.remarks.push_back(
        fmt::format("{} pods never ran in the original (Pending); kept", pending));
  }
  return Assemble(std::move(trace), name);
}

}  // namespace sharewell::trace
