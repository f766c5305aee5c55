// Nodes and reservations as scontrol prints them.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_records.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {

using core::FailedError;
using core::Quoted;
using core::Result;

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
  node.cpus_used = static_cast<int>(SlurmWhole(facts.Word("CPUAlloc"), 1'000'000).value_or(0));
  const auto used = SlurmWhole(facts.Word("AllocMem"), 1'000'000'000'000).value_or(0);
  node.memory_used = core::Bytes(static_cast<double>(used) * 1024 * 1024);
  TakeNodeStates(state, node);
  RETURN_IF_ERROR(TakeNodeGres(facts.Word("Gres"), node));
  for (const std::string_view feature : SplitAtCommas(facts.Word("ActiveFeatures"))) {
    node.features.emplace_back(feature);
  }
  for (const std::string_view partition : SplitAtCommas(facts.Word("Partitions"))) {
    node.partitions.emplace_back(partition);
  }
  node.reason = all.Words("Reason", std::array<std::string_view, 2>{"Comment", "Extra"});
  node.extra = all.Word("Extra");
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

std::vector<std::string> PartitionsCommand() {
  return {"scontrol", "show", "partition", "--oneliner"};
}

Result<std::map<std::string, core::Seconds>> ParsePartitionLimits(std::string_view text) {
  auto records = RecordsOf(text, "PartitionName=");
  RETURN_IF_ERROR(records);
  std::map<std::string, core::Seconds> out;
  for (const std::string_view text_of_one : *records) {
    const ScontrolRecord record(text_of_one);
    auto limit = ParseTimeLimit(record.Word("MaxTime"));
    RETURN_IF_ERROR(limit);
    if (*limit) out[std::string(record.Word("PartitionName"))] = **limit;
  }
  return out;
}

}  // namespace sharewell::engine
