#include "trace/gavel.h"

#include <algorithm>
#include <utility>

#include "catalogue/gavel_throughputs.h"
#include "trace/assemble.h"

namespace sharewell::trace {

bool DetectGavel(std::string_view text) {
  const auto line = text.substr(0, text.substr(0, 1 << 20).find('\n'));
  return line.size() <= 1 << 20 && std::count(line.begin(), line.end(), '\t') == 9;
}

core::Result<Trace> ReadGavel(std::string_view text, const std::string& name) {
  platform::CsvOptions options;
  options.separator = '\t';
  options.quotes = false;  // the command is shell text
  options.header = {"type",        "command",      "directory", "argument", "needs_data_dir",
                    "total_steps", "scale_factor", "priority",  "slo",      "arrival"};
  platform::CsvReader csv(text, name, std::move(options));
  const auto type = csv.Require("type");
  const auto steps = csv.Require("total_steps");
  const auto scale_factor = csv.Require("scale_factor");
  const auto arrival = csv.Require("arrival");
  Trace trace{"gavel", {}, {}};
  trace.jobs.reserve(csv.ApproximateRows());
  while (csv.Next()) {
    TraceJob job;
    job.id = std::to_string(trace.jobs.size() + 1);
    job.submit = core::Seconds(csv.Number(arrival, kSubmit));
    job.steps = csv.Number(steps, {0, 1e15, true});
    job.gpus = static_cast<int>(csv.Integer(scale_factor, 1, kMostGpus));
    job.workload =
        core::Workload{catalogue::GavelWorkload(csv.RequiredText(type), job.gpus), 0, "", 0};
    trace.jobs.push_back(std::move(job));
  }
  if (!csv.ok()) return csv.error();
  trace.remarks.emplace_back("ids are row numbers; priority weights and deadlines are not used");
  return Assemble(std::move(trace), name);
}

}  // namespace sharewell::trace
