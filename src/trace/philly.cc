#include "trace/philly.h"

#include <chrono>
#include <optional>
#include <utility>

#include "trace/assemble.h"

namespace sharewell::trace {
namespace {

// All of the text as a number; nothing when a letter is no digit.
std::optional<int> Digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "2017-10-09 07:01:55" in seconds since 1970, as if it were UTC: only differences are used.
std::optional<double> ParseTimestamp(std::string_view text) {
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto year = Digits(text.substr(0, 4));
  const auto month = Digits(text.substr(5, 2));
  const auto day = Digits(text.substr(8, 2));
  const auto hour = Digits(text.substr(11, 2));
  const auto minute = Digits(text.substr(14, 2));
  const auto second = Digits(text.substr(17, 2));
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const double days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + *hour * 3600 + *minute * 60 + *second;
}

}  // namespace

bool DetectPhilly(std::string_view text) {
  return HasColumns(text, {"timestamp", "duration", "num_gpus"});
}

core::Result<Trace> ReadPhilly(std::string_view text, const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto timestamp = csv.Require("timestamp");
  const auto duration = csv.Require("duration");
  const auto gpus = csv.Require("num_gpus");
  const auto cluster = csv.Find("cluster");
  Trace trace{"philly", {}, {}};
  bool sorted = true;
  core::Seconds last;
  trace.jobs.reserve(csv.ApproximateRows());
  while (csv.Next()) {
    TraceJob& job = trace.jobs.emplace_back();
    const auto submit = ParseTimestamp(csv.Text(timestamp));
    if (!submit) csv.Fail(timestamp, "is not a time like 2017-10-09 07:01:55");
    job.submit = core::Seconds(submit.value_or(0));
    job.duration = core::Seconds(csv.Number(duration, kDuration));
    job.gpus = static_cast<int>(csv.Integer(gpus, 0, kMostGpus));
    job.user = csv.Text(cluster);
    job.id = std::to_string(trace.jobs.size());
    if (job.submit < last) sorted = false;
    last = job.submit;
  }
  if (!csv.ok()) return csv.error();
  trace.remarks.emplace_back("ids are row numbers; the virtual cluster is taken for the user");
  if (!sorted) trace.remarks.emplace_back("jobs were not in order of time and were sorted");
  return Assemble(std::move(trace), name);
}

}  // namespace sharewell::trace
