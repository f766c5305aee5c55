#include "cli/client/server_answers.h"

#include <type_traits>
#include <utility>

#include "core/result.h"
#include "json/value.h"
#include "json/writer.h"
#include "simulation/results.h"
#include "store/job_store.h"
#include "store/jobs/job_json.h"

namespace sharewell::cli {
namespace {

using core::FailedError;
using core::Result;
using json::Document;
using json::RootOf;
using json::Value;

// What an answer says, where it is of the kind that is asked for.
template <class T>
std::optional<T> Told(Value from, std::string_view key) {
  const Value value = from[key];
  if constexpr (std::is_same_v<T, std::string>) {
    const auto text = value.Text();
    return text ? std::optional(std::string(*text)) : std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.Bool();
  } else if constexpr (std::is_same_v<T, double>) {
    return value.Number();
  } else {
    const auto whole = value.Whole();
    if (!whole || !std::in_range<T>(*whole)) return std::nullopt;
    return static_cast<T>(*whole);
  }
}

template <class Quantity>
std::optional<Quantity> Measured(Value from, std::string_view key) {
  const auto value = Told<double>(from, key);
  return value ? std::optional(Quantity(*value)) : std::nullopt;
}

// The list under `key` of a document.
Result<Value> ListOf(const Result<Document>& parsed, const char* key) {
  const Value root = RootOf(parsed);
  if (!root.is_object()) return FailedError("no JSON");
  if (!root[key].is_list()) return FailedError("it has no list of {}", key);
  return root[key];
}

std::vector<core::GivenGpu> GivenOf(Value list) {
  std::vector<core::GivenGpu> gpus;
  for (const Value entry : list.items()) {
    if (const auto index = entry.Whole()) gpus.push_back({static_cast<int>(*index), "", ""});
    if (!entry.is_object()) continue;
    gpus.push_back({Told<int>(entry, "index").value_or(0),
                    Told<std::string>(entry, "uuid").value_or(""),
                    Told<std::string>(entry, "model").value_or("")});
  }
  return gpus;
}

std::vector<std::string> TextsOf(Value from, const char* key) {
  std::vector<std::string> texts;
  for (const Value entry : from[key].items()) {
    if (const auto text = entry.Text()) texts.emplace_back(*text);
  }
  return texts;
}

simulation::WhatIfRow WhatIfRowOf(Value entry) {
  simulation::WhatIfRow row;
  row.name = Told<std::string>(entry, "name").value_or("");
  row.jobs = Told<std::size_t>(entry, "jobs").value_or(0);
  row.finished = Told<std::size_t>(entry, "finished").value_or(0);
  row.makespan = Told<double>(entry, "makespan_seconds");
  row.jct_mean = Told<double>(entry, "jct_mean_seconds");
  row.queueing_mean = Told<double>(entry, "queueing_mean_seconds");
  row.slowdown_mean = Told<double>(entry, "slowdown_mean");
  row.busy = Told<double>(entry, "busy");
  row.moves = Told<std::size_t>(entry, "moves").value_or(0);
  row.ooms = Told<std::size_t>(entry, "ooms").value_or(0);
  row.by_size = simulation::ReadGroupTimes(entry["by_size"], "size");
  row.by_user = simulation::ReadGroupTimes(entry["by_user"], "user");
  return row;
}

}  // namespace

std::string SubmissionsJson(std::span<const core::Submission> submissions) {
  if (submissions.size() == 1) return store::SubmissionToJson(submissions.front());
  return json::ObjectLine([&](json::Writer& out) {
    out.List("jobs", submissions, [&](const core::Submission& submission) {
      out.Raw(store::SubmissionToJson(submission));
    });
  });
}

Result<JobsAnswer> JobsFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "jobs");
  RETURN_IF_ERROR(list);
  JobsAnswer answer;
  for (const Value entry : list->items()) {
    auto job = store::JobFromJson(entry);
    RETURN_IF_ERROR(job);
    answer.jobs.push_back(std::move(*job));
  }
  answer.next = Told<std::int64_t>(parsed->root(), "next");
  answer.store_problem = Told<std::string>(parsed->root(), "store_problem").value_or("");
  for (const auto& [phase, count] : parsed->root()["counts"].members()) {
    if (const auto whole = count.Whole()) answer.counts[std::string(phase)] = *whole;
  }
  return answer;
}

Result<Considered> ConsideredFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "jobs");
  RETURN_IF_ERROR(list);
  if (list->empty()) return FailedError("it has no job");
  auto job = store::JobFromJson(list->At(0));
  RETURN_IF_ERROR(job);
  const Value forecast = parsed->root()["forecast"];
  Considered considered{.job = std::move(*job),
                        .start = Told<std::int64_t>(forecast, "start_ms"),
                        .where = {},
                        .why = Told<std::string>(forecast, "why").value_or("")};
  if (const auto gpus = GivenOf(forecast["gpus"]); !gpus.empty()) {
    considered.where = report::GpusInWords(gpus);
  }
  return considered;
}

Result<Why> WhyFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const Value root = RootOf(parsed);
  if (!root.Has("why")) return FailedError("it does not say why");
  return Why{TextsOf(root, "why"), Told<core::UnixMillis>(root, "expected_start_ms")};
}

namespace {

// What is none is left out; where they are too many, or out of order, all are.
core::JobMetrics MetricsOf(Value list) {
  std::vector<core::JobMetric> all;
  for (const Value entry : list.items()) {
    core::JobMetric metric;
    metric.last = {Told<std::string>(entry, "name").value_or(""),
                   Told<core::UnixMillis>(entry, "time_ms").value_or(-1),
                   Told<double>(entry, "value").value_or(0), Told<std::int64_t>(entry, "step")};
    std::vector<core::MetricPoint> points;
    for (const Value point : entry["points"].items()) {
      const auto from = Told<core::UnixMillis>(point, "from_ms");
      const auto to = Told<core::UnixMillis>(point, "to_ms");
      const auto value = Told<double>(point, "value");
      if (from && to && value) points.push_back({*from, *to, *value, 1});
    }
    metric.points = core::Thinned(std::move(points));
    all.push_back(std::move(metric));
  }
  return core::JobMetrics::From(std::move(all)).value_or(core::JobMetrics());
}

}  // namespace

Result<report::JobSpeed> SpeedFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "points");
  RETURN_IF_ERROR(list);
  report::JobSpeed speed;
  for (const Value entry : list->items()) {
    const auto from = Told<core::UnixMillis>(entry, "from_ms");
    const auto to = Told<core::UnixMillis>(entry, "to_ms");
    const auto rate = Told<double>(entry, "steps_per_second");
    if (from && to && rate) speed.points.push_back({*from, *to, *rate});
  }
  const Value prediction = RootOf(parsed)["prediction"];
  speed.low = Told<double>(prediction, "low");
  speed.middle = Told<double>(prediction, "middle");
  speed.high = Told<double>(prediction, "high");
  speed.metrics = MetricsOf(RootOf(parsed)["metrics"]);  // an older server has none
  return speed;
}

Result<std::vector<report::GpuNow>> GpusFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "gpus");
  RETURN_IF_ERROR(list);
  std::vector<report::GpuNow> gpus;
  for (const Value entry : list->items()) {
    report::GpuNow gpu;
    gpu.gpu.index = Told<int>(entry, "index").value_or(0);
    gpu.gpu.uuid = Told<std::string>(entry, "uuid").value_or("");
    gpu.gpu.model = Told<std::string>(entry, "model").value_or("");
    gpu.memory = Measured<core::Bytes>(entry, "memory_bytes");
    gpu.memory_used = Measured<core::Bytes>(entry, "memory_used_bytes");
    gpu.simulated = Told<bool>(entry, "simulated").value_or(false);
    gpu.drained = Told<bool>(entry, "drained").value_or(false);
    gpu.problem = Told<std::string>(entry, "problem").value_or("");
    for (const Value one : entry["strangers"].items()) {
      gpu.strangers.push_back({Told<int>(one, "pid").value_or(0),
                               Told<std::string>(one, "user").value_or(""),
                               Measured<core::Bytes>(one, "memory_bytes").value_or(core::Bytes()),
                               Told<bool>(one, "busy").value_or(false)});
    }
    gpu.busy = Told<double>(entry, "busy");
    gpu.power = Measured<core::Watts>(entry, "power_watts");
    for (const Value job : entry["jobs"].items()) {
      if (const auto number = job.Whole()) gpu.jobs.push_back(*number);
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<report::NodeNow> NodeFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "nodes");
  RETURN_IF_ERROR(list);
  if (list->empty()) return FailedError("it has no node");
  const Value entry = list->At(0), machine = entry["machine"];
  return report::NodeNow{.name = Told<std::string>(entry, "name").value_or(""),
                         .policy = Told<std::string>(entry, "policy").value_or(""),
                         .cores = Told<double>(entry, "cores"),
                         .cores_given = Told<double>(entry, "cores_given"),
                         .simulated_cores = Told<bool>(entry, "simulated_cores").value_or(false),
                         .store_up = Told<bool>(entry, "store_up").value_or(true),
                         .store_problem = Told<std::string>(entry, "store_problem").value_or(""),
                         .cpu_busy = Told<double>(machine, "cpu_busy"),
                         .memory = Measured<core::Bytes>(machine, "memory_bytes"),
                         .memory_used = Measured<core::Bytes>(machine, "memory_used_bytes")};
}

std::vector<std::pair<core::UnixMillis, core::Ratio>> BusyFromAnswer(std::string_view body,
                                                                     const core::GivenGpu& gpu) {
  const auto parsed = Document::Parse(body);
  std::vector<std::pair<core::UnixMillis, core::Ratio>> busy;
  for (const Value series : RootOf(parsed)["series"].items()) {
    const auto instance = series["instance"].Text();
    if (series["metric"].Text() != "gpu_busy_ratio" || !instance) continue;
    if (*instance != gpu.uuid && *instance != std::to_string(gpu.index)) continue;
    for (const Value point : series["points"].items()) {
      const auto time = point.At(0).Number(), value = point.At(1).Number();
      if (time && value) busy.emplace_back(static_cast<core::UnixMillis>(*time), *value);
    }
  }
  return busy;
}

Result<std::string> UserFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  auto user = Told<std::string>(RootOf(parsed), "user");
  if (!user || user->empty()) return FailedError("it does not say whose limits they are");
  return *user;
}

Result<simulation::WhatIfResult> WhatIfFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "policies");
  RETURN_IF_ERROR(list);
  const Value root = parsed->root();
  simulation::WhatIfResult result;
  for (const Value entry : list->items()) result.policies.push_back(WhatIfRowOf(entry));
  if (root["really"].is_object()) result.really = WhatIfRowOf(root["really"]);
  result.jobs = Told<std::size_t>(root, "jobs").value_or(0);
  result.remarks = TextsOf(root, "remarks");
  return result;
}

Result<report::UsageTable> UsageTableFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const auto list = ListOf(parsed, "rows");
  RETURN_IF_ERROR(list);
  const Value root = parsed->root();
  const auto row_of = [](Value entry) {
    return report::UsageRow{.name = Told<std::string>(entry, "name").value_or(""),
                            .jobs = Told<std::size_t>(entry, "jobs").value_or(0),
                            .held_hours = Told<double>(entry, "held_gpu_hours").value_or(0),
                            .known_hours = Told<double>(entry, "known_gpu_hours").value_or(0),
                            .busy_hours = Told<double>(entry, "busy_gpu_hours"),
                            .priced_hours = Told<double>(entry, "priced_gpu_hours").value_or(0),
                            .cost = Told<double>(entry, "cost"),
                            .wait_mean = Told<double>(entry, "wait_mean_seconds"),
                            .wait_p99 = Told<double>(entry, "wait_p99_seconds")};
  };
  report::UsageTable table;
  table.by = Told<std::string>(root, "by").value_or("user");
  table.time = {Told<std::int64_t>(root, "from_ms").value_or(0),
                Told<std::int64_t>(root, "to_ms").value_or(0)};
  table.currency = Told<std::string>(root, "currency").value_or("");
  for (const Value entry : list->items()) table.rows.push_back(row_of(entry));
  table.all = row_of(root["all"]);
  table.unpriced = TextsOf(root, "unpriced");
  table.cut = Told<bool>(root, "cut").value_or(false);
  return table;
}

Result<simulation::Savings> SavingsFromAnswer(std::string_view body) {
  const auto parsed = Document::Parse(body);
  const Value savings = RootOf(parsed)["savings"];
  if (!savings.is_object()) return FailedError("it has no savings");
  for (const char* key : {"really", "exclusive"}) {
    if (!Told<double>(savings[key], "gpu_hours")) {
      return FailedError("its savings do not say the GPU hours of \"{}\"", key);
    }
  }
  const auto side = [&](const char* key) {
    const Value one = savings[key];
    return simulation::SavingsSide{*Told<double>(one, "gpu_hours"), Told<double>(one, "energy_kwh"),
                                   Told<double>(one, "makespan_seconds"),
                                   Told<double>(one, "jct_mean_seconds"),
                                   Told<double>(one, "wait_mean_seconds")};
  };
  return simulation::Savings{
      side("really"), side("exclusive"), Told<std::size_t>(savings, "jobs").value_or(0),
      Told<std::size_t>(savings, "shared").value_or(0), TextsOf(savings, "remarks")};
}

std::optional<core::Event> EventFromAnswer(std::string_view data) {
  const auto parsed = Document::Parse(data);
  const Value root = RootOf(parsed);
  if (!root.is_object()) return std::nullopt;
  return core::Event{.id = Told<std::int64_t>(root, "id").value_or(0),
                     .time = Told<std::int64_t>(root, "time_ms").value_or(0),
                     .kind = Told<std::string>(root, "kind").value_or(""),
                     .job = Told<std::int64_t>(root, "job").value_or(0),
                     .text = Told<std::string>(root, "text").value_or("")};
}

std::string DetailOf(std::string_view body) {
  const auto parsed = Document::Parse(body);
  for (const char* key : {"detail", "title"}) {
    if (const auto text = RootOf(parsed)[key].Text()) return std::string(*text);
  }
  return {};
}

}  // namespace sharewell::cli
