// `squeue --json`: as 22.05 writes it (plain numbers, null for unknown) and as versions from 23.02
// on do ({"set": true, "infinite": false, "number": 3}, states as lists).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"
#include "json/value.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;
using json::Value;

// Beyond it the command line would be too long: all jobs are asked for instead.
constexpr std::size_t kMostAskedFor = 4000;
constexpr std::int64_t kMostJsonId = 4'294'967'295;
constexpr std::int64_t kMostTasksAtOnce = 100'000'000;
// Slurm writes these for "not said" and "without end" where 22.05 forgets to write null.
constexpr std::int64_t kNotSaid = 4'294'967'294, kWithoutEnd = 4'294'967'295;

// One job's object. The first error stays, so that reading goes straight on.
class JsonJob {
 public:
  JsonJob(Value fields, std::int64_t id) : fields_(fields), id_(id) {}

  // Absent: null, not set, infinite, or not there at all.
  std::optional<std::int64_t> Number(const char* key, std::int64_t most) {
    return NumberOf(fields_[key], key, most);
  }
  std::optional<std::int64_t> NumberOf(Value value, const char* key, std::int64_t most) {
    if (value.is_null()) return std::nullopt;
    if (value.is_object()) {
      const auto set = value["set"].Bool();
      if (!set || !value.Has("number")) return Wrong(key, value);
      if (!*set || value["infinite"].Bool().value_or(false)) return std::nullopt;
      value = value["number"];
    }
    auto whole = value.Whole();
    if (!whole) {
      const auto decimal = value.Number();
      if (!decimal || !(std::abs(*decimal) < 9e15)) return Wrong(key, value);
      whole = static_cast<std::int64_t>(*decimal);
    }
    if (*whole < 0 || *whole > most) return Wrong(key, value);
    return whole;
  }
  // A list is joined with commas.
  std::string Text(const char* key) {
    const Value value = fields_[key];
    if (const auto text = value.Text()) return std::string(*text);
    std::string out;
    for (const std::string_view one : TextsOf(value, key)) {
      if (!out.empty()) out += ',';
      out += one;
    }
    return out;
  }
  std::vector<std::string_view> Texts(const char* key) { return TextsOf(fields_[key], key); }
  bool Flag(const char* key, bool otherwise) {
    const Value value = fields_[key];
    if (const auto flag = value.Bool()) return *flag;
    const auto number = NumberOf(value, key, 1);
    return number ? *number != 0 : otherwise;
  }
  // Of waitpid() in 22.05; since then in words.
  std::optional<int> ExitCode() {
    const Value value = fields_["exit_code"];
    if (value.Has("return_code")) {
      const Value signal = value["signal"];
      const auto by = NumberOf(signal[signal.Has("id") ? "id" : "signal_id"], "exit_code", 127);
      if (by && *by > 0) return static_cast<int>(128 + *by);
      const auto number = NumberOf(value["return_code"], "exit_code", 255);
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
  std::vector<std::string_view> TextsOf(Value value, const char* key) {
    std::vector<std::string_view> out;
    if (const auto text = value.Text()) {
      if (!text->empty()) out.push_back(*text);
    } else if (value.is_list()) {
      for (const Value one : value.items()) {
        if (!one.is_text()) {
          Wrong(key, value);
          return {};
        }
        out.push_back(*one.Text());
      }
    } else if (!value.is_null()) {
      Wrong(key, value);
    }
    return out;
  }
  std::nullopt_t Wrong(const char* key, Value value) {
    Keep({core::ErrorKind::kFailed,
          fmt::format("job {}: {} is {}, which no known version of Slurm writes there", id_, key,
                      Quoted(value.Line()))});
    return std::nullopt;
  }

  Value fields_;
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
  if (job.phase == SlurmPhase::kPending) return;
  const auto given = from.Texts("gres_detail");
  for (std::size_t i = 0; given.size() == job.nodes.size() && i < given.size(); ++i) {
    if (auto taken = TakeHeld(job.nodes[i], given[i], job); !taken) {
      from.Keep(std::move(taken.error()).Within(fmt::format("job {}", job.id)));
    }
  }
  // One that was given shards without having asked node by node.
  if (job.slots.empty()) {
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

Result<SlurmJob> ParseJsonJob(Value fields) {
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
    const auto most = from.Number("array_max_tasks", kMostJsonId);
    if (most.value_or(0) > 0 && *most < kMostTasksAtOnce)
      job.array_at_once = static_cast<int>(*most);
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
std::string SlurmComplaint(Value document) {
  for (const Value one : document["errors"].items()) {
    for (const char* key : {"error", "description"}) {
      const std::string_view text = one[key].Text().value_or("");
      if (!text.empty()) return std::string(text);
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

Result<std::vector<SlurmJob>> ParseJobs(std::string_view printed) {
  const auto parsed = json::Document::Parse(printed);
  if (!parsed || !parsed->root().is_object()) {
    return FailedError(
        "squeue --json did not print JSON as a whole ({}); it began with {}. Was it stopped, or is "
        "Slurm's JSON plugin (serializer/json) not installed?",
        parsed ? "it is no object" : parsed.error().message, Quoted(printed));
  }
  const Value document = parsed->root();
  if (const std::string complaint = SlurmComplaint(document); !complaint.empty()) {
    return FailedError("squeue --json: Slurm says {}", Quoted(complaint));
  }
  if (!document["jobs"].is_list()) {
    return FailedError("squeue --json printed JSON without \"jobs\": {}; is this Slurm's squeue?",
                       Quoted(printed));
  }
  std::vector<SlurmJob> out;
  std::unordered_set<std::int64_t> seen;
  std::size_t hosts = 0;
  for (const Value fields : document["jobs"].items()) {
    if (!fields.is_object()) {
      return FailedError("squeue --json: a job is no object but {}", Quoted(fields.Line()));
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
