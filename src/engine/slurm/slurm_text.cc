// What Slurm's commands print as text: squeue with fields of our choice, scontrol a line a record.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "core/text/quoted.h"
#include "core/text/utf8.h"
#include "engine/slurm/slurm_read.h"
#include "engine/slurm/slurm_words.h"

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

// The records of `scontrol -o`: a line that begins with `key`, and those after it that do not
// (somebody's text had a line break).
Result<std::vector<std::string_view>> RecordsOf(std::string_view text, std::string_view key) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = begin;
    while (true) {
      end = std::min(text.find('\n', end), text.size());
      if (end + 1 >= text.size() || text.substr(end + 1).starts_with(key)) break;
      ++end;
    }
    std::string_view record = text.substr(begin, end - begin);
    while (!record.empty() && (record.back() == ' ' || record.back() == '\n')) {
      record.remove_suffix(1);
    }
    if (!record.empty() && !record.starts_with(key)) {
      return FailedError("scontrol did not print what was asked for: a line begins with {}, not {}",
                         Quoted(record), Quoted(key));
    }
    if (!record.empty()) out.push_back(record);
    begin = end + 1;
  }
  return out;
}

// "Key=value Key2=..." of one record. Values may hold blanks, so that each ends where a key that
// was asked for begins; nobody's words may pass for one of Slurm's own (see Find).
class ScontrolRecord {
 public:
  explicit ScontrolRecord(std::string_view text) : text_(text) {}

  // Where " Key=" stands; npos: nowhere. At the very beginning there is no blank.
  std::size_t Find(std::string_view key, std::size_t from = 0) const {
    const std::string pattern = fmt::format("{}=", key);
    while (true) {
      const std::size_t at = text_.find(pattern, from);
      if (at == std::string_view::npos) return at;
      if (at == 0 || text_[at - 1] == ' ' || text_[at - 1] == '\n') return at;
      from = at + 1;
    }
  }
  bool Twice(std::string_view key) const {
    const std::size_t at = Find(key);
    return at != std::string_view::npos && Find(key, at + 1) != std::string_view::npos;
  }
  // One word. "(null)" and "N/A" are empty.
  std::string_view Word(std::string_view key) const {
    const std::size_t at = Find(key);
    if (at == std::string_view::npos) return {};
    return Known(text_.substr(at + key.size() + 1, Blank(at) - at - key.size() - 1));
  }
  // Words up to the next of `ends`, whichever comes first.
  std::string_view Words(std::string_view key, std::span<const std::string_view> ends) const {
    const std::size_t at = Find(key);
    if (at == std::string_view::npos) return {};
    const std::size_t begin = at + key.size() + 1;
    std::size_t end = text_.size();
    for (const std::string_view other : ends) end = std::min(end, Find(other, begin));
    std::string_view value = text_.substr(begin, end - begin);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    return Known(value);
  }

 private:
  std::size_t Blank(std::size_t from) const {
    return std::min(text_.find_first_of(" \n", from), text_.size());
  }
  static std::string_view Known(std::string_view value) {
    return value == "(null)" || value == "N/A" ? std::string_view() : value;
  }
  std::string_view text_;
};

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
  if (fields[6] != "None") out.reason = fields[6];
  return out;
}

}  // namespace

std::vector<std::string> QueueCommand(const std::string& partition) {
  std::vector<std::string> words{"squeue", "--noheader", "--all", "--format", kQueueFormat};
  if (!partition.empty()) words.insert(words.end(), {"--partition", partition});
  return words;
}

Result<std::vector<SlurmQueueLine>> ParseQueue(std::string_view text) {
  std::vector<SlurmQueueLine> out;
  std::unordered_set<std::int64_t> seen;
  std::size_t number = 0, hosts = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    auto one = ParseQueueLine(line);
    if (one && !seen.insert(one->id).second) {
      one = FailedError("job {} is there twice", one->id);
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

std::vector<std::string> NodesCommand() { return {"scontrol", "show", "node", "--oneliner"}; }

namespace {

// Words beside a node's state that keep jobs from being started there.
constexpr std::array<std::string_view, 25> kNotUp = {
    "DOWN",         "DRAIN",         "DRAINED",          "DRAINING",       "ERROR",
    "FAIL",         "FAILING",       "FUTURE",           "INVAL",          "INVALID",
    "INVALID_REG",  "MAINT",         "MAINTENANCE",      "NOT_RESPONDING", "NO_RESPOND",
    "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP",      "POWER_DOWN",     "POWER_UP",
    "REBOOT",       "REBOOT_ISSUED", "REBOOT_REQUESTED", "UNKNOWN",        "DYNAMIC_FUTURE"};
constexpr std::array<std::string_view, 6> kBaseUp = {"IDLE",  "MIXED",   "ALLOCATED",
                                                     "ALLOC", "PLANNED", "COMPLETING"};

void TakeNodeStates(std::string_view text, SlurmNode& node) {
  bool base = false, hindered = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('+'), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // "DOWN*": older forms mark a word instead of adding one.
    bool silent = false;
    while (!word.empty() && std::string_view("*~#!%$@^-").find(word.back()) != word.npos) {
      silent = silent || word.back() == '*';
      // A dash is planned for a job; each other mark means that nothing can be started now.
      hindered = hindered || word.back() != '-';
      word.remove_suffix(1);
    }
    if (!word.empty()) node.states.emplace_back(word);
    node.reserved = node.reserved || word == "RESERVED";
    if (silent) node.states.emplace_back("NOT_RESPONDING");
    base = base || std::find(kBaseUp.begin(), kBaseUp.end(), word) != kBaseUp.end();
    hindered = hindered || std::find(kNotUp.begin(), kNotUp.end(), word) != kNotUp.end();
  }
  node.up = base && !hindered;
}

// Slots: types of which there is one GPU with 100 shards.
Result<void> TakeNodeGres(std::string_view text, SlurmNode& node) {
  auto parts = ParseGres(text);
  RETURN_IF_ERROR(parts);
  const auto count = [&](std::string_view name, std::string_view type) {
    std::int64_t all = 0;
    for (const SlurmGres& part : *parts) {
      if (part.name == name && part.type == type) all += part.count;
    }
    return all;
  };
  std::int64_t gpus = 0;
  for (const SlurmGres& part : *parts) {
    if (part.name != "gpu") continue;
    gpus += part.count;
    if (!part.type.empty() && count("gpu", part.type) == 1 && count("shard", part.type) == 100) {
      node.slots.push_back(part.type);
    } else if (!part.type.empty()) {
      node.gpu_types.push_back(part.type);
    }
  }
  if (gpus > 65536) {
    return FailedError("node {}: {} GPUs are more than any machine has", node.name, gpus);
  }
  node.other_gpus = static_cast<int>(gpus - static_cast<std::int64_t>(node.slots.size()));
  return {};
}

Result<SlurmNode> ParseNodeRecord(std::string_view text) {
  // Admins write the reason and what follows it: nothing there is one of Slurm's figures.
  const ScontrolRecord all(text);
  const ScontrolRecord facts(text.substr(0, all.Find("Reason")));
  SlurmNode node;
  node.name = facts.Word("NodeName");
  const auto cpus_text =
      facts.Word("CPUEfctv").empty() ? facts.Word("CPUTot") : facts.Word("CPUEfctv");
  const auto cpus = SlurmWhole(cpus_text, 1'000'000);
  const auto memory = SlurmWhole(facts.Word("RealMemory"), 1'000'000'000'000);
  const std::string_view state = facts.Word("State");
  if (node.name.empty() || !cpus || !memory || state.empty()) {
    return FailedError("node {}: NodeName, CPUTot, RealMemory and State are expected in {}",
                       Quoted(node.name), Quoted(text));
  }
  node.cpus = static_cast<int>(*cpus);
  node.memory = core::Bytes(static_cast<double>(*memory) * 1024 * 1024);
  TakeNodeStates(state, node);
  RETURN_IF_ERROR(TakeNodeGres(facts.Word("Gres"), node));
  for (const std::string_view feature : SplitAtCommas(facts.Word("ActiveFeatures"))) {
    node.features.emplace_back(feature);
  }
  for (const std::string_view partition : SplitAtCommas(facts.Word("Partitions"))) {
    node.partitions.emplace_back(partition);
  }
  node.reason = all.Words("Reason", std::array<std::string_view, 2>{"Comment", "Extra"});
  return node;
}

}  // namespace

Result<std::vector<SlurmNode>> ParseNodes(std::string_view text) {
  auto records = RecordsOf(text, "NodeName=");
  RETURN_IF_ERROR(records);
  std::vector<SlurmNode> out;
  std::unordered_set<std::string> seen;
  for (const std::string_view record : *records) {
    auto node = ParseNodeRecord(record);
    if (node && !seen.insert(node->name).second) {
      node = FailedError("node {} is there twice", Quoted(node->name));
    }
    if (!node) return tl::unexpected(std::move(node.error()).Within("scontrol show node"));
    out.push_back(std::move(*node));
  }
  return out;
}

namespace {

// Slurm's own figures. A name or a comment that holds one of these words could pass for Slurm's
// word: such a record is refused, as it could be read in two ways.
constexpr std::array<std::string_view, 24> kJobFacts = {
    "JobId",    "UserId",    "GroupId",   "Priority",    "JobState",     "Reason",
    "Restarts", "ExitCode",  "TimeLimit", "SubmitTime",  "EligibleTime", "StartTime",
    "EndTime",  "Partition", "BatchFlag", "ReqNodeList", "NodeList",     "NumNodes",
    "NumCPUs",  "Command",   "WorkDir",   "NumTasks",    "MinCPUsNode",  "TRES"};

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
  }
  const std::string_view reason =
      record.Words("Reason", std::array<std::string_view, 2>{"FailedNode", "Dependency"});
  if (reason != "None") job.reason = reason;
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
    if (job && (hosts += job->nodes.size() + job->required_nodes.size()) > kMostHostsOfAll) {
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

std::vector<std::string> AccountCommand(std::int64_t id) {
  return {"sacct",       "--noheader",
          "--parsable2", "--allocations",
          "--allusers",  fmt::format("--jobs={}", id),
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

std::vector<std::string> ReservationsCommand() {
  return {"scontrol", "show", "reservation", "--oneliner"};
}

Result<std::vector<SlurmReservation>> ParseReservations(std::string_view text) {
  if (text.starts_with("No reservations")) return std::vector<SlurmReservation>();
  auto records = RecordsOf(text, "ReservationName=");
  RETURN_IF_ERROR(records);
  std::vector<SlurmReservation> out;
  std::size_t hosts = 0;
  for (const std::string_view text_of_one : *records) {
    const ScontrolRecord record(text_of_one);
    SlurmReservation one;
    one.name = record.Word("ReservationName");
    auto start = ParseSlurmTime(record.Word("StartTime"));
    RETURN_IF_ERROR(start);
    auto end = ParseSlurmTime(record.Word("EndTime"));
    RETURN_IF_ERROR(end);
    auto nodes = ExpandHosts(record.Word("Nodes"));
    RETURN_IF_ERROR(nodes);
    if (one.name.empty() || (hosts += nodes->size()) > kMostHostsOfAll) {
      return FailedError("scontrol show reservation: {} has no name, or too many nodes",
                         Quoted(text_of_one));
    }
    one.start = start->value_or(0);
    one.end = *end;
    one.nodes = std::move(*nodes);
    out.push_back(std::move(one));
  }
  return out;
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
