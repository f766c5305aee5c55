#include "cli/client/server_answers.h"

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/job_store.h"

namespace sharewell::cli {
namespace {

using core::FailedError;
using core::Result;
using Json = nlohmann::ordered_json;

// What an answer says under `key`, where it is of the kind that is asked for.
template <class T>
std::optional<T> Told(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!it->is_string()) return std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!it->is_boolean()) return std::nullopt;
  } else {
    if (!it->is_number()) return std::nullopt;
  }
  return it->template get<T>();
}

template <class Quantity>
std::optional<Quantity> Measured(const Json& json, const char* key) {
  const auto value = Told<double>(json, key);
  return value ? std::optional(Quantity(*value)) : std::nullopt;
}

// The list under `key` of a document.
Result<Json> ListOf(std::string_view body, const char* key) {
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return FailedError("no JSON");
  const auto it = json.find(key);
  if (it == json.end() || !it->is_array()) return FailedError("it has no list of {}", key);
  return std::move(*it);
}

Result<core::JobRecord> JobOf(const Json& entry) {
  return store::JobFromJson(entry.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<core::GivenGpu> GivenOf(const Json& list) {
  std::vector<core::GivenGpu> gpus;
  for (const Json& entry : list) {
    if (entry.is_number_integer()) gpus.push_back({entry.get<int>(), "", ""});
    if (!entry.is_object()) continue;
    gpus.push_back({Told<int>(entry, "index").value_or(0),
                    Told<std::string>(entry, "uuid").value_or(""),
                    Told<std::string>(entry, "model").value_or("")});
  }
  return gpus;
}

std::vector<std::string> TextsOf(const Json& json, const char* key) {
  std::vector<std::string> texts;
  const auto it = json.find(key);
  if (it == json.end() || !it->is_array()) return texts;
  for (const Json& text : *it) {
    if (text.is_string()) texts.push_back(text);
  }
  return texts;
}

study::WhatIfRow WhatIfRowOf(const Json& entry) {
  study::WhatIfRow row;
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
  return row;
}

}  // namespace

std::string SubmissionsJson(std::span<const core::Submission> submissions) {
  if (submissions.size() == 1) return store::SubmissionToJson(submissions.front());
  std::string body = "{\"jobs\":[";
  for (const core::Submission& submission : submissions) {
    if (body.back() == '}') body += ',';
    body += store::SubmissionToJson(submission);
  }
  return body + "]}";
}

Result<JobsAnswer> JobsFromAnswer(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  const auto list = ListOf(body, "jobs");
  RETURN_IF_ERROR(list);
  JobsAnswer answer;
  for (const Json& entry : *list) {
    auto job = JobOf(entry);
    RETURN_IF_ERROR(job);
    answer.jobs.push_back(std::move(*job));
  }
  answer.next = Told<std::int64_t>(json, "next");
  if (const auto counts = json.find("counts"); counts != json.end() && counts->is_object()) {
    for (const auto& [phase, count] : counts->items()) {
      if (count.is_number_integer()) answer.counts[phase] = count.get<std::int64_t>();
    }
  }
  return answer;
}

Result<Considered> ConsideredFromAnswer(std::string_view body) {
  const auto list = ListOf(body, "jobs");
  RETURN_IF_ERROR(list);
  if (list->empty()) return FailedError("it has no job");
  auto job = JobOf(list->front());
  RETURN_IF_ERROR(job);
  Considered considered{.job = std::move(*job), .start = {}, .where = {}, .why = {}};
  const Json json = Json::parse(body, nullptr, false);
  const auto forecast = json.find("forecast");
  if (forecast == json.end() || !forecast->is_object()) return considered;
  considered.start = Told<std::int64_t>(*forecast, "start_ms");
  considered.why = Told<std::string>(*forecast, "why").value_or("");
  if (const auto gpus = forecast->find("gpus"); gpus != forecast->end() && !gpus->empty()) {
    considered.where = report::GpusInWords(GivenOf(*gpus));
  }
  return considered;
}

Result<Why> WhyFromAnswer(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("why")) return FailedError("it does not say why");
  return Why{TextsOf(json, "why"), Told<core::UnixMillis>(json, "expected_start_ms")};
}

Result<std::vector<report::GpuNow>> GpusFromAnswer(std::string_view body) {
  const auto list = ListOf(body, "gpus");
  RETURN_IF_ERROR(list);
  std::vector<report::GpuNow> gpus;
  for (const Json& entry : *list) {
    report::GpuNow gpu;
    gpu.gpu.index = Told<int>(entry, "index").value_or(0);
    gpu.gpu.uuid = Told<std::string>(entry, "uuid").value_or("");
    gpu.gpu.model = Told<std::string>(entry, "model").value_or("");
    gpu.memory = Measured<core::Bytes>(entry, "memory_bytes");
    gpu.memory_used = Measured<core::Bytes>(entry, "memory_used_bytes");
    gpu.simulated = Told<bool>(entry, "simulated").value_or(false);
    gpu.drained = Told<bool>(entry, "drained").value_or(false);
    gpu.problem = Told<std::string>(entry, "problem").value_or("");
    if (const auto others = entry.find("strangers"); others != entry.end() && others->is_array()) {
      for (const Json& one : *others) {
        gpu.strangers.push_back({Told<int>(one, "pid").value_or(0),
                                 Told<std::string>(one, "user").value_or(""),
                                 Measured<core::Bytes>(one, "memory_bytes").value_or(core::Bytes()),
                                 Told<bool>(one, "busy").value_or(false)});
      }
    }
    gpu.busy = Told<double>(entry, "busy");
    gpu.power = Measured<core::Watts>(entry, "power_watts");
    if (const auto jobs = entry.find("jobs"); jobs != entry.end() && jobs->is_array()) {
      for (const Json& job : *jobs) {
        if (job.is_number_integer()) gpu.jobs.push_back(job.get<std::int64_t>());
      }
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<report::NodeNow> NodeFromAnswer(std::string_view body) {
  const auto list = ListOf(body, "nodes");
  RETURN_IF_ERROR(list);
  if (list->empty()) return FailedError("it has no node");
  const Json& entry = list->front();
  report::NodeNow node{.name = Told<std::string>(entry, "name").value_or(""),
                       .policy = Told<std::string>(entry, "policy").value_or(""),
                       .cores = Told<double>(entry, "cores"),
                       .cores_given = Told<double>(entry, "cores_given"),
                       .simulated_cores = Told<bool>(entry, "simulated_cores").value_or(false),
                       .store_up = Told<bool>(entry, "store_up").value_or(true),
                       .store_problem = Told<std::string>(entry, "store_problem").value_or("")};
  if (const auto it = entry.find("machine"); it != entry.end() && it->is_object()) {
    node.cpu_busy = Told<double>(*it, "cpu_busy");
    node.memory = Measured<core::Bytes>(*it, "memory_bytes");
    node.memory_used = Measured<core::Bytes>(*it, "memory_used_bytes");
  }
  return node;
}

Result<study::WhatIfResult> WhatIfFromAnswer(std::string_view body) {
  const auto list = ListOf(body, "policies");
  RETURN_IF_ERROR(list);
  const Json json = Json::parse(body, nullptr, false);
  study::WhatIfResult result;
  for (const Json& entry : *list) result.policies.push_back(WhatIfRowOf(entry));
  if (const auto it = json.find("really"); it != json.end() && it->is_object()) {
    result.really = WhatIfRowOf(*it);
  }
  result.jobs = Told<std::size_t>(json, "jobs").value_or(0);
  result.remarks = TextsOf(json, "remarks");
  return result;
}

Result<study::Savings> SavingsFromAnswer(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  const auto it = json.is_object() ? json.find("savings") : json.end();
  if (it == json.end() || !it->is_object()) return FailedError("it has no savings");
  for (const char* key : {"really", "exclusive"}) {
    const auto one = it->find(key);
    if (one == it->end() || !one->is_object() || !Told<double>(*one, "gpu_hours")) {
      return FailedError("its savings do not say the GPU hours of \"{}\"", key);
    }
  }
  const auto side = [&](const char* key) {
    const Json& one = (*it)[key];
    return study::SavingsSide{*Told<double>(one, "gpu_hours"), Told<double>(one, "energy_kwh"),
                              Told<double>(one, "makespan_seconds"),
                              Told<double>(one, "jct_mean_seconds"),
                              Told<double>(one, "wait_mean_seconds")};
  };
  return study::Savings{side("really"), side("exclusive"),
                        Told<std::size_t>(*it, "jobs").value_or(0),
                        Told<std::size_t>(*it, "shared").value_or(0), TextsOf(*it, "remarks")};
}

std::optional<core::Event> EventFromAnswer(std::string_view data) {
  const Json json = Json::parse(data, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return core::Event{.id = Told<std::int64_t>(json, "id").value_or(0),
                     .time = Told<std::int64_t>(json, "time_ms").value_or(0),
                     .kind = Told<std::string>(json, "kind").value_or(""),
                     .job = Told<std::int64_t>(json, "job").value_or(0),
                     .text = Told<std::string>(json, "text").value_or("")};
}

std::string DetailOf(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return {};
  for (const char* key : {"detail", "title"}) {
    if (const auto it = json.find(key); it != json.end() && it->is_string()) return *it;
  }
  return {};
}

}  // namespace sharewell::cli
