// What Slurm's commands print as text: squeue with fields of our choice, scontrol a line a record.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/text/quoted.h"
#include "core/text/utf8.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_records.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;

constexpr std::int64_t kMostSlurmId = 4'294'967'295;
constexpr std::int64_t kMostCpus = 100'000'000;
constexpr std::int64_t kMostPriority = std::numeric_limits<std::int64_t>::max();

// Neither a job's name nor a comment is among the fields, so that no user can break a line; the
// reason comes last, as Slurm itself puts words into it.
constexpr const char* kQueueFormat = "%A|%T|%Q|%P|%N|%C|%r";

Result<std::int64_t> IdOf(std::string_view text) {
  const auto id = SlurmWhole(text, kMostSlurmId);
  if (id && *id > 0) return *id;
  return FailedError("{} is no id of a Slurm job", Quoted(text));
}

Result<SlurmQueueLine> ParseQueueLine(std::string_view line) {
  std::array<std::string_view, 7> fields;
  std::string_view rest = line;
  for (std::size_t i = 0; i + 1 < fields.size(); ++i) {
    const std::size_t bar = rest.find('|');
    if (bar == std::string_view::npos) {
      return FailedError("{} has {} fields where {} were asked for ({})", Quoted(line), i + 1,
                         fields.size(), kQueueFormat);
    }
    fields[i] = rest.substr(0, bar);
    rest.remove_prefix(bar + 1);
  }
  fields.back() = rest;
  SlurmQueueLine out;
  auto id = IdOf(fields[0]);
  RETURN_IF_ERROR(id);
  out.id = *id;
  out.phase = PhaseOf(std::array{fields[1]});
  const auto priority = SlurmWhole(fields[2], kMostPriority);
  if (!priority) return FailedError("job {}: {} is no priority", out.id, Quoted(fields[2]));
  out.priority = *priority;
  out.partition = fields[3];
  auto nodes = ExpandHosts(fields[4]);
  if (!nodes) return tl::unexpected(std::move(nodes.error()).Within(fmt::format("job {}", out.id)));
  out.nodes = std::move(*nodes);
  const auto cpus = SlurmWhole(fields[5], kMostCpus);
  if (!cpus) return FailedError("job {}: {} is no number of CPUs", out.id, Quoted(fields[5]));
  out.cpus = static_cast<int>(*cpus);
  out.reason = ReasonOf(std::array{fields[1]}, fields[6]);
  return out;
}

}  // namespace

std::vector<std::string> QueueCommand(const std::string& partition) {
  // By task: else squeue shows the tasks of a waiting array that have ids of their own under the
  // array's alone, as long as any has none.
  std::vector<std::string> words{"squeue",  "--noheader", "--all",
                                 "--array", "--format",   kQueueFormat};
  if (!partition.empty()) words.insert(words.end(), {"--partition", partition});
  return words;
}

Result<std::vector<SlurmQueueLine>> ParseQueue(std::string_view text) {
  std::vector<SlurmQueueLine> out;
  std::unordered_map<std::int64_t, std::size_t> seen;  // where it is in `out`
  std::size_t number = 0, hosts = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    auto one = ParseQueueLine(line);
    // Tasks of an array that have no ids of their own have the same line each.
    if (one) {
      const auto [at, is_new] = seen.try_emplace(one->id, out.size());
      if (!is_new && out[at->second] == *one) continue;
      if (!is_new) one = FailedError("job {} is there twice", one->id);
    }
    if (one && (hosts += one->nodes.size()) > kMostHostsOfAll) {
      one = FailedError("the jobs name more than {} nodes", kMostHostsOfAll);
    }
    if (!one) {
      return tl::unexpected(std::move(one.error()).Within(fmt::format("squeue: line {}", number)));
    }
    out.push_back(std::move(*one));
  }
  return out;
}

namespace {

// Slurm's own figures. A name or a comment that holds one of these words could pass for Slurm's
// word: such a record is refused, as it could be read in two ways.
constexpr std::array<std::string_view, 27> kJobFacts = {
    "JobId",       "UserId",        "GroupId",     "Priority",    "JobState",     "Reason",
    "Restarts",    "ExitCode",      "TimeLimit",   "SubmitTime",  "EligibleTime", "StartTime",
    "EndTime",     "Partition",     "BatchFlag",   "ReqNodeList", "NodeList",     "NumNodes",
    "NumCPUs",     "Command",       "WorkDir",     "NumTasks",    "MinCPUsNode",  "TRES",
    "ExcNodeList", "OverSubscribe", "AdminComment"};

// "root(0)": the name and the number.
bool TakeOwner(std::string_view text, std::string& name, std::uint32_t& number) {
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return false;
  const auto value = SlurmWhole(text.substr(open + 1, text.size() - open - 2), kMostSlurmId);
  if (!value) return false;
  name = text.substr(0, open);
  number = static_cast<std::uint32_t>(*value);
  return true;
}

Result<int> CountOf(const ScontrolRecord& record, std::string_view key) {
  std::string_view text = record.Word(key);
  text = text.substr(0, text.find('-'));  // "2-4" nodes of a job that waits: the least
  if (text.empty()) return 0;
  const auto value = SlurmWhole(text, kMostCpus);
  if (value) return static_cast<int>(*value);
  return FailedError("{} of {} is no number", key, Quoted(text));
}

Result<void> TakeJobTimes(const ScontrolRecord& record, SlurmJob& job) {
  const auto time = [&](std::string_view key) { return ParseSlurmTime(record.Word(key)); };
  auto limit = ParseTimeLimit(record.Word("TimeLimit"));
  RETURN_IF_ERROR(limit);
  job.time_limit = *limit;
  auto submitted = time("SubmitTime");
  RETURN_IF_ERROR(submitted);
  job.submitted = *submitted;
  auto eligible = time("EligibleTime");
  RETURN_IF_ERROR(eligible);
  job.eligible = *eligible;
  // Of a job that waits the start is a plan; the end of one that runs is its limit.
  auto started = time("StartTime");
  RETURN_IF_ERROR(started);
  if (job.phase != SlurmPhase::kPending) job.started = *started;
  auto ended = time("EndTime");
  RETURN_IF_ERROR(ended);
  if (IsOver(job.phase)) job.ended = *ended;
  return {};
}

Result<void> TakeExitCode(std::string_view text, SlurmJob& job) {
  const std::size_t colon = text.find(':');
  const auto code = SlurmWhole(text.substr(0, colon), 255);
  const auto signal = colon == std::string_view::npos ? std::optional<std::int64_t>(0)
                                                      : SlurmWhole(text.substr(colon + 1), 127);
  if (!code || !signal) return FailedError("{} is no exit code (0:15)", Quoted(text));
  if (IsOver(job.phase)) {
    job.exit_code = static_cast<int>(*signal > 0 ? 128 + *signal : *code);
  }
  return {};
}

// "Nodes=n[1-2] CPU_IDs=0 Mem=500 GRES=gpu:g0:1(IDX:0)", once for all nodes that are alike, between
// two words of Slurm's own: what a user wrote stands before or after both.
Result<void> TakeDetails(std::string_view record, SlurmJob& job) {
  const std::size_t end = record.find(" MinCPUsNode=");
  if (end == std::string_view::npos) return {};
  const std::size_t begin = record.rfind(" JOB_GRES=", end);
  if (begin == std::string_view::npos) return {};
  std::string_view rest = record.substr(begin, end - begin);
  constexpr std::string_view kNodes = " Nodes=";
  for (std::size_t at = rest.find(kNodes); at != std::string_view::npos; at = rest.find(kNodes)) {
    rest.remove_prefix(at + 1);
    const ScontrolRecord details(rest.substr(0, rest.find(kNodes)));
    const auto nodes = ExpandHosts(details.Word("Nodes"));
    RETURN_IF_ERROR(nodes);
    for (const std::string& node : *nodes) {
      RETURN_IF_ERROR(TakeHeld(node, details.Word("GRES"), job));
    }
  }
  return {};
}

Result<void> TakeJobResources(const ScontrolRecord& record, SlurmJob& job) {
  auto cpus = CountOf(record, "NumCPUs");
  RETURN_IF_ERROR(cpus);
  job.cpus = *cpus;
  auto nodes = CountOf(record, "NumNodes");
  RETURN_IF_ERROR(nodes);
  job.nodes_wanted = std::max(1, *nodes);
  const std::string_view asked =
      record.Word("ReqTRES").empty() ? record.Word("TRES") : record.Word("ReqTRES");
  if (job.phase == SlurmPhase::kPending) TakeNodesAsked(asked, job);
  auto tasks = CountOf(record, "NumTasks");
  RETURN_IF_ERROR(tasks);
  job.tasks = std::max(1, *tasks);
  if (const auto range = record.Word("NumNodes"); job.phase == SlurmPhase::kPending) {
    const std::size_t dash = range.find('-');
    const auto most = SlurmWhole(range.substr(std::min(dash, range.size() - 1) + 1), kMostCpus);
    if (dash != std::string_view::npos && most) job.nodes_most = static_cast<int>(*most);
  }
  auto least = CountOf(record, "MinCPUsNode");
  RETURN_IF_ERROR(least);
  job.cpus_a_node = *least;
  if (const auto text = record.Word("MinMemoryNode"); !text.empty() && text != "0") {
    auto memory = ParseSlurmMemory(text);
    RETURN_IF_ERROR(memory);
    job.memory = *memory;
  } else if (const auto each = record.Word("MinMemoryCPU"); !each.empty() && each != "0") {
    auto memory = ParseSlurmMemory(each);
    RETURN_IF_ERROR(memory);
    job.memory_by_cpu = true;
    job.memory = *memory * (static_cast<double>(job.cpus) / job.nodes_wanted);
  }
  auto where = ExpandHosts(record.Word("NodeList"));
  RETURN_IF_ERROR(where);
  job.nodes = std::move(*where);
  auto required = ExpandHosts(record.Word("ReqNodeList"));
  RETURN_IF_ERROR(required);
  job.required_nodes = std::move(*required);
  auto excluded = ExpandHosts(record.Word("ExcNodeList"));
  RETURN_IF_ERROR(excluded);
  job.excluded_nodes = std::move(*excluded);
  job.whole_nodes = record.Word("OverSubscribe") == "NO";
  RETURN_IF_ERROR(TakeRequest(record.Word("TresPerNode"), "", job));
  RETURN_IF_ERROR(TakeRequest(record.Word("TresPerJob"), "per_job=", job));
  RETURN_IF_ERROR(TakeRequest(record.Word("TresPerSocket"), "per_socket=", job));
  RETURN_IF_ERROR(TakeRequest(record.Word("TresPerTask"), "per_task=", job));
  return {};
}

// What users and admins wrote, each up to the next word that Slurm may put there.
void TakeJobTexts(const ScontrolRecord& record, SlurmJob& job) {
  job.name = record.Words("JobName", std::array<std::string_view, 1>{"UserId"});
  job.script = record.Words("Command", std::array<std::string_view, 1>{"WorkDir"});
  constexpr std::array<std::string_view, 7> kAfterFolder = {
      "AdminComment", "SystemComment", "Comment", "StdErr", "StdIn", "StdOut", "Power"};
  job.folder = record.Words("WorkDir", kAfterFolder);
  // Jobs of srun and salloc have no files.
  constexpr std::array<std::string_view, 14> kAfterComment = {
      "SystemComment", "Comment",     "StdErr",     "StdIn",       "StdOut",
      "Power",         "TresPerNode", "TresPerJob", "TresPerTask", "TresPerSocket",
      "CpusPerTres",   "MemPerTres",  "MailUser",   "MailType"};
  job.admin_comment = record.Words("AdminComment", kAfterComment);
  job.comment = record.Words("Comment", kAfterComment);
  constexpr std::array<std::string_view, 9> kAfterOutput = {
      "Power",       "TresPerNode", "TresPerJob", "TresPerTask", "TresPerSocket",
      "CpusPerTres", "MemPerTres",  "MailUser",   "MailType"};
  job.standard_output = record.Words("StdOut", kAfterOutput);
}

Result<SlurmJob> ParseJobRecord(std::string_view text) {
  const ScontrolRecord record(text);
  SlurmJob job;
  auto id = IdOf(record.Word("JobId"));
  RETURN_IF_ERROR(id);
  job.id = *id;
  for (const std::string_view key : kJobFacts) {
    if (record.Twice(key)) {
      return FailedError(
          "job {}: '{}=' is there twice, as a name, a comment or a path may hold it; read the job "
          "with squeue --json instead",
          job.id, key);
    }
  }
  std::string group;
  const auto priority = SlurmWhole(record.Word("Priority"), kMostPriority);
  const std::string_view state = record.Word("JobState");
  if (!TakeOwner(record.Word("UserId"), job.user, job.uid) ||
      !TakeOwner(record.Word("GroupId"), group, job.gid) || !priority || state.empty()) {
    return FailedError("job {}: UserId, GroupId, Priority and JobState are expected in {}", job.id,
                       Quoted(text));
  }
  job.priority = *priority;
  job.phase_word = state;
  job.phase = PhaseOf(std::array{state});
  if (const auto array = record.Word("ArrayJobId"); !array.empty()) {
    auto number = IdOf(array);
    RETURN_IF_ERROR(number);
    job.array = *number;
    const std::string_view task = record.Word("ArrayTaskId");
    job.array_task = SlurmWhole(task, kMostSlurmId);
    if (!job.array_task) job.array_tasks = task;
    if (const auto most = SlurmWhole(record.Word("ArrayTaskThrottle"), kMostCpus)) {
      job.array_at_once = static_cast<int>(*most);
    }
  }
  const std::string_view reason =
      record.Words("Reason", std::array<std::string_view, 2>{"FailedNode", "Dependency"});
  job.reason = ReasonOf(std::array{state}, reason);
  job.account = record.Word("Account");
  job.qos = record.Word("QOS");
  job.partition = record.Word("Partition");
  job.dependency = record.Word("Dependency");
  job.reservation = record.Word("Reservation");
  job.features = record.Word("Features");
  auto restarts = CountOf(record, "Restarts");
  RETURN_IF_ERROR(restarts);
  job.restarts = *restarts;
  job.requeue = record.Word("Requeue") != "0";
  RETURN_IF_ERROR(TakeJobTimes(record, job));
  RETURN_IF_ERROR(TakeExitCode(record.Word("ExitCode"), job));
  RETURN_IF_ERROR(TakeJobResources(record, job));
  if (job.phase != SlurmPhase::kPending) RETURN_IF_ERROR(TakeDetails(text, job));
  TakeJobTexts(record, job);
  if (NeverRan(job)) job.started.reset();
  if (record.Word("BatchFlag") == "0") job.script.clear();
  return job;
}

}  // namespace

Result<std::vector<SlurmJob>> ParseShowJob(std::string_view text) {
  auto records = RecordsOf(text, "JobId=");
  RETURN_IF_ERROR(records);
  std::vector<SlurmJob> out;
  std::unordered_set<std::int64_t> seen;
  std::size_t hosts = 0;
  for (const std::string_view record : *records) {
    auto job = ParseJobRecord(record);
    if (job && (hosts += HostsNamedBy(*job)) > kMostHostsOfAll) {
      job = FailedError("the jobs name more than {} nodes", kMostHostsOfAll);
    }
    if (job && !seen.insert(job->id).second) {
      job = FailedError("job {} is there twice", job->id);
    }
    if (!job) return tl::unexpected(std::move(job.error()).Within("scontrol show job"));
    out.push_back(std::move(*job));
  }
  return out;
}

std::vector<std::string> AccountCommand(const std::vector<std::int64_t>& ids) {
  return {"sacct",       "--noheader",
          "--parsable2", "--allocations",
          "--allusers",  fmt::format("--jobs={}", fmt::join(ids, ",")),
          "--format",    "JobIDRaw,State,ExitCode,Start,End,NodeList"};
}

Result<std::optional<SlurmJob>> ParseAccount(std::string_view text, std::int64_t id) {
  std::optional<SlurmJob> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (rest.empty()) continue;
    std::array<std::string_view, 6> fields;
    for (std::string_view& field : fields) {
      const std::size_t bar = std::min(rest.find('|'), rest.size());
      field = rest.substr(0, bar);
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
    auto number = IdOf(fields[0]);
    if (!number) return tl::unexpected(std::move(number.error()).Within("sacct"));
    if (*number != id) continue;
    SlurmJob job;
    job.id = id;
    job.phase_word = fields[1];
    job.phase = PhaseOf(std::array{fields[1]});
    auto started = ParseSlurmTime(fields[3]);
    RETURN_IF_ERROR(started);
    job.started = *started;
    auto ended = ParseSlurmTime(fields[4]);
    RETURN_IF_ERROR(ended);
    job.ended = *ended;
    RETURN_IF_ERROR(TakeExitCode(fields[2], job));
    if (fields[5] != "None assigned") {
      auto nodes = ExpandHosts(fields[5]);
      RETURN_IF_ERROR(nodes);
      job.nodes = std::move(*nodes);
    }
    if (NeverRan(job)) job.started.reset();
    found = std::move(job);  // the last one: ids begin anew some day
  }
  return found;
}

Result<std::string> ScontrolValue(std::string_view value) {
  bool blank = false;
  for (const char c : value) {
    if (core::IsControl(c)) {
      return FailedError(
          "{} has a line break or another control character, which would begin a command of its "
          "own in scontrol; leave it out",
          Quoted(value));
    }
    blank = blank || c == ' ';
  }
  // scontrol keeps blanks together inside of quotes, and keeps the quotes: who reads the value
  // takes them off again (job_note.h).
  const bool twofold = value.find('"') != std::string_view::npos;
  const bool single = value.find('\'') != std::string_view::npos;
  if (twofold && single) {
    return FailedError("{} has both kinds of quotes, which scontrol cannot be given; use one kind",
                       Quoted(value));
  }
  if (!blank && !twofold && !single) return std::string(value);
  return twofold ? fmt::format("'{}'", value) : fmt::format("\"{}\"", value);
}

}  // namespace sharewell::engine
