#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/text/plain_text.h"
#include "core/text/utf8.h"
#include "trace/csv.h"

namespace sharewell::trace {
namespace {

constexpr double kGiBytes = 1024.0 * 1024 * 1024;

std::string CsvField(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n#") == std::string_view::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// Empty: not stated.
struct WriteColumn {
  const char* name;
  std::function<std::string(const TraceJob&)> text;
  bool always = false;
};

std::string Plain(double value) { return fmt::format("{}", value); }

const std::vector<WriteColumn>& WriteColumns() {
  static const std::vector<WriteColumn> columns = {
      {"id", [](const TraceJob& j) { return CsvField(j.id); }, true},
      {"submit_seconds", [](const TraceJob& j) { return Plain(j.submit.value); }, true},
      {"duration_seconds",
       [](const TraceJob& j) { return j.duration ? Plain(j.duration->value) : std::string(); },
       true},
      {"gpus", [](const TraceJob& j) { return fmt::format("{}", j.gpus); }, true},
      {"user", [](const TraceJob& j) { return CsvField(j.user); }},
      {"workload",
       [](const TraceJob& j) { return j.workload ? CsvField(j.workload->name) : std::string(); }},
      {"batch",
       [](const TraceJob& j) {
         return j.workload && j.workload->batch > 0 ? fmt::format("{}", j.workload->batch)
                                                    : std::string();
       }},
      {"precision",
       [](const TraceJob& j) {
         return j.workload ? CsvField(j.workload->precision) : std::string();
       }},
      {"workers",
       [](const TraceJob& j) {
         return j.workload && j.workload->workers > 0 ? fmt::format("{}", j.workload->workers)
                                                      : std::string();
       }},
      {"cores", [](const TraceJob& j) { return j.cores ? Plain(*j.cores) : std::string(); }},
      {"host_memory_gb",
       [](const TraceJob& j) {
         return j.host_memory ? Plain(j.host_memory->value / kGiBytes) : std::string();
       }},
      {"host_bandwidth_gbs",
       [](const TraceJob& j) {
         return j.host_bandwidth ? Plain(j.host_bandwidth->value / 1e9) : std::string();
       }},
      {"gpu_memory_gb",
       [](const TraceJob& j) {
         return j.gpu_memory ? Plain(j.gpu_memory->value / kGiBytes) : std::string();
       }},
      {"gpu_models",
       [](const TraceJob& j) { return CsvField(fmt::format("{}", fmt::join(j.gpu_models, ";"))); }},
      {"exclusive", [](const TraceJob& j) { return std::string(j.exclusive ? "1" : ""); }},
      {"sm_share",
       [](const TraceJob& j) { return j.sm_share ? Plain(*j.sm_share) : std::string(); }},
      {"priority",
       [](const TraceJob& j) {
         return j.priority != 0 ? fmt::format("{}", j.priority) : std::string();
       }},
      {"restart_seconds",
       [](const TraceJob& j) {
         return j.restart_cost ? Plain(j.restart_cost->value) : std::string();
       }},
      {"startup_seconds",
       [](const TraceJob& j) {
         return j.startup.value > 0 ? Plain(j.startup.value) : std::string();
       }},
      {"steps", [](const TraceJob& j) { return j.steps ? Plain(*j.steps) : std::string(); }},
      {"waited_seconds",
       [](const TraceJob& j) { return j.waited ? Plain(j.waited->value) : std::string(); }},
  };
  return columns;
}

}  // namespace

std::string WriteCsv(const Trace& trace) {
  std::string out;
  for (const std::string& remark : trace.remarks) {
    out += "# " + core::PlainText(remark, " ") + "\n";
  }
  std::vector<const WriteColumn*> columns;
  for (const WriteColumn& column : WriteColumns()) {
    const bool used = std::any_of(trace.jobs.begin(), trace.jobs.end(),
                                  [&](const TraceJob& job) { return !column.text(job).empty(); });
    if (!column.always && !used) continue;
    out += columns.empty() ? "" : ",";
    out += column.name;
    columns.push_back(&column);
  }
  out += '\n';
  for (const TraceJob& job : trace.jobs) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out += ',';
      out += columns[i]->text(job);
    }
    out += '\n';
  }
  return out;
}

}  // namespace sharewell::trace
