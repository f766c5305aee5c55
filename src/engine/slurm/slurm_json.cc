// `squeue --json`: as 22.05 writes it (plain numbers, null for unknown) and as versions from 23.02
// on do ({"set": true, "infinite": false, "number": 3}, states as lists).
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/text/quoted.h"
#include "engine/slurm/slurm_read.h"
#include "engine/slurm/slurm_words.h"

namespace sharewell::engine {
namespace {

namespace dom = simdjson::dom;
using core::FailedError;
using core::Quoted;
using core::Result;

// Beyond it the command line would be too long: all jobs are asked for instead.
constexpr std::size_t kMostAskedFor = 4000;
constexpr std::int64_t kMostJsonId = 4'294'967'295;
// Slurm writes these for "not said" and "without end" where 22.05 forgets to write null.
constexpr std::int64_t kNotSaid = 4'294'967'294, kWithoutEnd = 4'294'967'295;

// One job's object. The first error stays, so that reading goes straight on.
class JsonJob {
 public:
  JsonJob(dom::object fields, std::int64_t id) : fields_(fields), id_(id) {}

  // Absent: null, not set, infinite, or not there at all.
  std::optional<std::int64_t> Number(const char* key, std::int64_t most) {
    dom::element value;
    if (fields_.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
    return NumberOf(value, key, most);
  }
  std::optional<std::int64_t> NumberOf(dom::element value, const char* key, std::int64_t most) {
    if (value.is_null()) return std::nullopt;
    if (value.is_object()) {
      bool set = false, infinite = false;
      dom::element number;
      if (value["set"].get(set) != simdjson::SUCCESS ||
          value["number"].get(number) != simdjson::SUCCESS) {
        return Wrong(key, value);
      }
      if (value["infinite"].get(infinite) != simdjson::SUCCESS) infinite = false;
      if (!set || infinite) return std::nullopt;
      value = number;
    }
    std::int64_t whole = 0;
    double decimal = 0;
    if (value.get(whole) != simdjson::SUCCESS) {
      if (value.get(decimal) != simdjson::SUCCESS || !(std::abs(decimal) < 9e15)) {
        return Wrong(key, value);
      }
      whole = static_cast<std::int64_t>(decimal);
    }
    if (whole < 0 || whole > most) return Wrong(key, value);
    return whole;
  }
  // A list is joined with commas.
  std::string Text(const char* key) {
    dom::element value;
    if (fields_.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return {};
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) return std::string(text);
    std::string out;
    for (const std::string_view one : TextsOf(value, key)) {
      if (!out.empty()) out += ',';
      out += one;
    }
    return out;
  }
  std::vector<std::string_view> Texts(const char* key) {
    dom::element value;
    if (fields_.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return {};
    return TextsOf(value, key);
  }
  bool Flag(const char* key, bool otherwise) {
    dom::element value;
    if (fields_.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return otherwise;
    bool flag = otherwise;
    if (value.get(flag) == simdjson::SUCCESS) return flag;
    const auto number = NumberOf(value, key, 1);
    return number ? *number != 0 : otherwise;
  }
  // Of waitpid() in 22.05; since then in words.
  std::optional<int> ExitCode() {
    dom::element value;
    if (fields_.at_key("exit_code").get(value) != simdjson::SUCCESS) return std::nullopt;
    dom::element code, signal;
    if (value.is_object() && value["return_code"].get(code) == simdjson::SUCCESS) {
      if (value["signal"]["id"].get(signal) == simdjson::SUCCESS ||
          value["signal"]["signal_id"].get(signal) == simdjson::SUCCESS) {
        const auto number = NumberOf(signal, "exit_code", 127);
        if (number && *number > 0) return static_cast<int>(128 + *number);
      }
      const auto number = NumberOf(code, "exit_code", 255);
      return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
    }
    const auto status = NumberOf(value, "exit_code", kMostJsonId);
    if (!status) return std::nullopt;
    const int signal_number = static_cast<int>(*status & 0x7f);
    return signal_number > 0 ? 128 + signal_number : static_cast<int>((*status >> 8) & 0xff);
  }
  const std::optional<core::Error>& error() const { return error_; }
  void Keep(core::Error error) {
    if (!error_) error_ = std::move(error);
  }
  template <class T>
  T Take(Result<T> result, const char* key) {
    if (result) return std::move(*result);
    Keep(std::move(result.error()).Within(fmt::format("job {}: {}", id_, key)));
    return T{};
  }

 private:
  std::vector<std::string_view> TextsOf(dom::element value, const char* key) {
    std::vector<std::string_view> out;
    std::string_view text;
    dom::array list;
    if (value.get(text) == simdjson::SUCCESS) {
      if (!text.empty()) out.push_back(text);
    } else if (value.get(list) == simdjson::SUCCESS) {
      for (const dom::element one : list) {
        if (one.get(text) != simdjson::SUCCESS) {
          Wrong(key, value);
          return {};
        }
        out.push_back(text);
      }
    } else {
      Wrong(key, value);
    }
    return out;
  }
  std::nullopt_t Wrong(const char* key, dom::element value) {
    std::string shown = simdjson::minify(value);
    Keep({core::ErrorKind::kFailed,
          fmt::format("job {}: {} is {}, which no known version of Slurm writes there", id_, key,
                      Quoted(shown))});
    return std::nullopt;
  }

  dom::object fields_;
  std::int64_t id_;
  std::optional<core::Error> error_;
};

std::optional<core::UnixMillis> JsonTime(JsonJob& from, const char* key) {
  const auto seconds = from.Number(key, 1'000'000'000'000);
  if (!seconds || *seconds == 0) return std::nullopt;
  return *seconds * 1000;
}

void TakeJsonTimes(JsonJob& from, SlurmJob& job) {
  job.submitted = JsonTime(from, "submit_time");
  job.eligible = JsonTime(from, "eligible_time");
  // Of a job that waits the start is a plan; the end of one that runs is its limit.
  const auto started = JsonTime(from, "start_time"), ended = JsonTime(from, "end_time");
  if (job.phase != SlurmPhase::kPending) job.started = started;
  if (IsOver(job.phase)) {
    job.ended = ended;
    job.exit_code = from.ExitCode();
  }
  const auto minutes = from.Number("time_limit", kWithoutEnd);
  if (minutes && *minutes < kNotSaid) {
    job.time_limit = core::Seconds(static_cast<double>(*minutes) * 60);
  }
}

void TakeJsonResources(JsonJob& from, SlurmJob& job) {
  constexpr std::int64_t kMostCount = 100'000'000;
  job.nodes_wanted =
      std::max(1, static_cast<int>(from.Number("node_count", kMostCount).value_or(1)));
  if (job.phase == SlurmPhase::kPending) TakeNodesAsked(from.Text("tres_req_str"), job);
  if (job.phase == SlurmPhase::kPending) {
    job.nodes_most = static_cast<int>(from.Number("max_nodes", kMostCount).value_or(0));
  }
  job.tasks = std::max(1, static_cast<int>(from.Number("tasks", kMostCount).value_or(1)));
  // 22.05 does not tell it of a job that was cancelled before it ran.
  const auto least = from.Number("minimum_cpus_per_node", 1'000'000).value_or(0);
  job.cpus_a_node = static_cast<int>(least);
  job.cpus = static_cast<int>(
      from.Number("cpus", kMostCount).value_or(std::min(least * job.nodes_wanted, kMostCount)));
  constexpr double kMiB = 1024.0 * 1024;
  constexpr std::int64_t kMostMiB = std::int64_t{1} << 52;
  const auto of_node = from.Number("memory_per_node", kMostMiB);
  const auto of_cpu = from.Number("memory_per_cpu", kMostMiB);
  if (of_node && *of_node > 0) {
    job.memory = core::Bytes(static_cast<double>(*of_node) * kMiB);
  } else if (of_cpu && *of_cpu > 0) {
    job.memory = core::Bytes(static_cast<double>(*of_cpu) * kMiB * job.cpus / job.nodes_wanted);
    job.memory_by_cpu = true;
  }
  job.nodes = from.Take(ExpandHosts(from.Text("nodes")), "nodes");
  job.required_nodes = from.Take(ExpandHosts(from.Text("required_nodes")), "required_nodes");
  for (const std::string_view how : from.Texts("shared")) {
    job.whole_nodes = job.whole_nodes || how == "none";
  }
  job.excluded_nodes = from.Take(ExpandHosts(from.Text("excluded_nodes")), "excluded_nodes");
  struct Request {
    const char* key;
    const char* each;
  };
  for (const Request& request :
       {Request{"tres_per_node", ""}, Request{"tres_per_job", "per_job="},
        Request{"tres_per_socket", "per_socket="}, Request{"tres_per_task", "per_task="}}) {
    if (auto taken = TakeRequest(from.Text(request.key), request.each, job); !taken) {
      from.Keep(std::move(taken.error()).Within(fmt::format("job {}", job.id)));
    }
  }
  // One that was given shards without having asked node by node.
  if (job.slots.empty() && job.phase != SlurmPhase::kPending) {
    const auto given = from.Texts("gres_detail");
    SlurmJob has;
    if (!given.empty() && TakeRequest(given.front(), "", has)) job.slots = std::move(has.slots);
  }
}

void TakeJsonTexts(JsonJob& from, SlurmJob& job) {
  job.name = from.Text("name");
  job.user = from.Text("user_name");
  job.account = from.Text("account");
  job.qos = from.Text("qos");
  job.partition = from.Text("partition");
  job.dependency = from.Text("dependency");
  job.reservation = from.Text("resv_name");
  job.features = from.Text("features");
  job.comment = from.Text("comment");
  job.admin_comment = from.Text("admin_comment");
  job.folder = from.Text("current_working_directory");
  job.standard_output = from.Text("standard_output");
  if (from.Flag("batch_flag", true)) job.script = from.Text("command");
  job.reason = from.Text("state_reason");
  if (job.reason == "None") job.reason.clear();
}

Result<SlurmJob> ParseJsonJob(dom::object fields) {
  SlurmJob job;
  JsonJob unnamed(fields, 0);
  const auto id = unnamed.Number("job_id", kMostJsonId);
  if (!id || *id == 0) return FailedError("a job has no \"job_id\"");
  job.id = *id;
  JsonJob from(fields, *id);
  const auto words = from.Texts("job_state");
  if (words.empty()) return FailedError("job {} has no \"job_state\"", job.id);
  for (const std::string_view word : words) {
    if (!job.phase_word.empty()) job.phase_word += '+';
    job.phase_word += word;
  }
  job.phase = PhaseOf(words);
  const auto array = from.Number("array_job_id", kMostJsonId);
  if (array && *array > 0) {
    job.array = *array;
    job.array_task = from.Number("array_task_id", kMostJsonId);
    if (job.array_task && *job.array_task >= kNotSaid) job.array_task.reset();
    if (!job.array_task) job.array_tasks = from.Text("array_task_string");
  }
  const auto uid = from.Number("user_id", kMostJsonId), gid = from.Number("group_id", kMostJsonId);
  if (!uid && !from.error()) return FailedError("job {} has no \"user_id\"", job.id);
  job.uid = static_cast<std::uint32_t>(uid.value_or(0));
  job.gid = static_cast<std::uint32_t>(gid.value_or(0));
  job.priority = from.Number("priority", std::numeric_limits<std::int64_t>::max()).value_or(0);
  job.restarts = static_cast<int>(from.Number("restart_cnt", 1'000'000'000).value_or(0));
  job.requeue = from.Flag("requeue", true);
  TakeJsonTexts(from, job);
  TakeJsonTimes(from, job);
  TakeJsonResources(from, job);
  if (NeverRan(job)) job.started.reset();
  if (from.error()) return tl::unexpected(*from.error());
  return job;
}

// What Slurm itself complains of, in its words; empty: nothing.
std::string SlurmComplaint(dom::object document) {
  dom::array errors;
  if (document.at_key("errors").get(errors) != simdjson::SUCCESS) return {};
  for (const dom::element one : errors) {
    std::string_view text;
    for (const char* key : {"error", "description"}) {
      if (one[key].get(text) == simdjson::SUCCESS && !text.empty()) return std::string(text);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> JobsCommand(const std::vector<std::int64_t>& ids) {
  // Ended jobs too, as long as Slurm remembers them (MinJobAge).
  std::vector<std::string> words{"squeue", "--json", "--all", "--states=all"};
  if (!ids.empty() && ids.size() <= kMostAskedFor) {
    words.push_back(fmt::format("--jobs={}", fmt::join(ids, ",")));
  }
  return words;
}

Result<std::vector<SlurmJob>> ParseJobs(std::string_view json) {
  const simdjson::padded_string text(json);
  dom::parser parser;
  dom::object document;
  dom::array jobs;
  if (const auto error = parser.parse(text).get(document)) {
    return FailedError(
        "squeue --json did not print JSON as a whole ({}); it began with {}. Was it stopped, or is "
        "Slurm's JSON plugin (serializer/json) not installed?",
        simdjson::error_message(error), Quoted(json));
  }
  if (const std::string complaint = SlurmComplaint(document); !complaint.empty()) {
    return FailedError("squeue --json: Slurm says {}", Quoted(complaint));
  }
  if (document.at_key("jobs").get(jobs) != simdjson::SUCCESS) {
    return FailedError("squeue --json printed JSON without \"jobs\": {}; is this Slurm's squeue?",
                       Quoted(json));
  }
  std::vector<SlurmJob> out;
  std::unordered_set<std::int64_t> seen;
  std::size_t hosts = 0;
  for (const dom::element element : jobs) {
    dom::object fields;
    if (element.get(fields) != simdjson::SUCCESS) {
      return FailedError("squeue --json: a job is no object but {}",
                         Quoted(std::string(simdjson::minify(element))));
    }
    auto job = ParseJsonJob(fields);
    if (job && (hosts += HostsNamedBy(*job)) > kMostHostsOfAll) {
      job = FailedError("the jobs name more than {} nodes", kMostHostsOfAll);
    }
    if (job && !seen.insert(job->id).second) job = FailedError("job {} is there twice", job->id);
    if (!job) return tl::unexpected(std::move(job.error()).Within("squeue --json"));
    out.push_back(std::move(*job));
  }
  return out;
}

}  // namespace sharewell::engine
