#include "trace/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "catalogue/workload_columns.h"
#include "core/text/iso_time.h"
#include "core/text/suggest.h"
#include "platform/files/csv.h"
#include "platform/files/text.h"
#include "trace/assemble.h"

namespace sharewell::trace {
namespace {

using platform::CsvReader;
using Column = CsvReader::Column;

const std::vector<std::string>& KnownColumns() {
  static const std::vector<std::string> columns{"id",
                                                "submit_seconds",
                                                "duration_seconds",
                                                "gpus",
                                                "user",
                                                "workload",
                                                "batch",
                                                "precision",
                                                "workers",
                                                "cores",
                                                "steps",
                                                "gpu_memory_gb",
                                                "host_memory_gb",
                                                "priority",
                                                "gpu_models",
                                                "exclusive",
                                                "restart_seconds",
                                                "host_bandwidth_gbs",
                                                "startup_seconds",
                                                "sm_share",
                                                "waited_seconds"};
  return columns;
}

struct Columns {
  explicit Columns(CsvReader& csv)
      : id(csv.Require("id")),
        submit(csv.Require("submit_seconds")),
        duration(csv.Require("duration_seconds")),
        gpus(csv.Find("gpus")),
        user(csv.Find("user")),
        workload(catalogue::WorkloadColumns::Find(csv)),
        cores(csv.Find("cores")),
        gpu_memory(csv.Find("gpu_memory_gb")),
        host_memory(csv.Find("host_memory_gb")),
        gpu_models(csv.Find("gpu_models")),
        exclusive(csv.Find("exclusive")),
        priority(csv.Find("priority")),
        restart(csv.Find("restart_seconds")),
        steps(csv.Find("steps")),
        host_bandwidth(csv.Find("host_bandwidth_gbs")),
        startup(csv.Find("startup_seconds")),
        sm_share(csv.Find("sm_share")),
        waited(csv.Find("waited_seconds")) {}

  Column id, submit, duration, gpus, user;
  catalogue::WorkloadColumns workload;
  Column cores, gpu_memory, host_memory, gpu_models, exclusive, priority, restart, steps,
      host_bandwidth, startup, sm_share, waited;
};

void ReadWork(CsvReader& csv, const Columns& columns, TraceJob& job) {
  const core::Workload workload = columns.workload.Read(csv);
  if (!workload.name.empty()) {
    job.workload = workload;
  } else if (workload != core::Workload{}) {
    csv.FailRow("batch, precision or workers is given, but no workload they belong to");
  }
  if (const auto duration = csv.OptionalNumber(columns.duration, kDuration)) {
    job.duration = core::Seconds(*duration);
  }
  job.steps = csv.OptionalNumber(columns.steps, {0, 1e15, true});
  if (job.duration) return;
  if (!job.steps) csv.Fail(columns.duration, "needs a duration, or steps in its stead");
  if (!job.workload) {
    csv.Fail(columns.duration, "needs a duration: steps alone say nothing without a workload");
  }
}

// Seconds, or dates and times (ISO 8601): all rows in the same way.
class SubmitTimes {
 public:
  core::Seconds Read(CsvReader& csv, Column column) {
    const std::string_view text = csv.Text(column);
    const auto time = core::ParseIsoTime(text);
    if (!time && text.find_first_of("0123456789") == text.npos) {
      csv.Fail(column, "is neither a number of seconds nor a date such as 2026-11-19T08:00:00Z");
      return {};
    }
    const double seconds = time ? static_cast<double>(*time) / 1e3 : csv.Number(column, kSubmit);
    if (dates_ && *dates_ != time.has_value()) {
      csv.Fail(column, time ? "is a date, and the jobs above have seconds; write all in one way"
                            : "is in seconds, and the jobs above have dates; write all in one way");
    }
    dates_ = time.has_value();
    return core::Seconds(seconds);
  }

 private:
  std::optional<bool> dates_;
};

TraceJob ReadRow(CsvReader& csv, const Columns& columns, SubmitTimes& times) {
  TraceJob job;
  job.line = csv.line();
  job.id = csv.RequiredText(columns.id);
  job.user = csv.Text(columns.user);
  job.submit = times.Read(csv, columns.submit);
  job.gpus = static_cast<int>(csv.OptionalInteger(columns.gpus, 0, kMostGpus).value_or(1));
  ReadWork(csv, columns, job);
  job.cores = csv.OptionalNumber(columns.cores, {0, 1e9, true});
  if (const auto gb = csv.OptionalNumber(columns.gpu_memory, {0, 1e6})) {
    job.gpu_memory = core::GiB(*gb);
  }
  if (const auto gb = csv.OptionalNumber(columns.host_memory, {0, 1e9})) {
    job.host_memory = core::GiB(*gb);
  }
  if (const auto gbs = csv.OptionalNumber(columns.host_bandwidth, {0, 1e6})) {
    job.host_bandwidth = core::GBps(*gbs);
  }
  for (const auto model : platform::SplitList(csv.Text(columns.gpu_models), ';')) {
    job.gpu_models.emplace_back(model);
  }
  job.exclusive = csv.Flag(columns.exclusive, false);
  job.sm_share = csv.OptionalNumber(columns.sm_share, {0, 1, true});
  if (job.sm_share && (job.gpus != 1 || job.exclusive)) {
    csv.Fail(columns.sm_share, "is for a job that may share its one GPU");
  }
  job.priority =
      static_cast<int>(csv.OptionalInteger(columns.priority, -1'000'000, 1'000'000).value_or(0));
  if (const auto restart = csv.OptionalNumber(columns.restart, {0, 1e9})) {
    job.restart_cost = core::Seconds(*restart);
  }
  job.startup = core::Seconds(csv.OptionalNumber(columns.startup, {0, 1e9}).value_or(0));
  if (const auto waited = csv.OptionalNumber(columns.waited, {0, 1e10})) {
    job.waited = core::Seconds(*waited);
  }
  return job;
}

// A column nobody reads is allowed, but a misspelt one must not vanish in silence.
void RemarkUnknown(const std::vector<std::string>& header, Trace& trace) {
  const auto& known = KnownColumns();
  for (const auto& column : header) {
    if (column.empty() || std::find(known.begin(), known.end(), column) != known.end()) continue;
    trace.remarks.push_back(fmt::format("column {} is not used{}", platform::Quoted(column),
                                        core::DidYouMean(column, known)));
  }
}

}  // namespace

bool DetectCsv(std::string_view text) {
  return HasColumns(text, {"id", "submit_seconds", "duration_seconds"});
}

core::Result<Trace> ReadCsv(std::string_view text, const std::string& name) {
  CsvReader csv(text, name);
  const Columns columns(csv);
  Trace trace{"csv", {}, {}};
  RemarkUnknown(csv.header(), trace);
  std::unordered_set<std::string> ids;
  SubmitTimes times;
  trace.jobs.reserve(csv.ApproximateRows());
  while (csv.Next()) {
    TraceJob job = ReadRow(csv, columns, times);
    if (!csv.ok()) break;
    if (!ids.insert(job.id).second)
      csv.Fail(columns.id, "is the id of a job above; ids are unique");
    if (!trace.jobs.empty() && job.submit < trace.jobs.back().submit) {
      // Sorting here would hide a mixed-up file; Philly's order is known, this one's is promised.
      csv.Fail(columns.submit,
               fmt::format("is before the job above; sort the file by submit_seconds: "
                           "(head -n 1 FILE; tail -n +2 FILE | sort -s -t , -k {0},{0}g) > SORTED",
                           columns.submit.index + 1));
    }
    trace.jobs.push_back(std::move(job));
  }
  if (!csv.ok()) return csv.error();
  return Assemble(std::move(trace), name);
}

}  // namespace sharewell::trace
