#include "engine/slurm/site/trial_conf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace sharewell::engine {
namespace {

constexpr std::array<std::string_view, 22> kTrialSettings = {
    "clustername",      "authtype",      "credtype",      "authinfo",
    "plugindir",        "selecttype",    "grestypes",     "selecttypeparameters",
    "jobsubmitplugins", "schedulertype", "proctracktype", "defmempercpu",
    "defmempernode",    "defmempergpu",  "maxmempercpu",  "maxmempernode",
    "defcpupergpu",     "maxjobcount",   "maxarraysize",  "slurmdparameters",
    "jobrequeue",       "licenses"};
// Of NodeName lines everything but these.
constexpr std::array<std::string_view, 6> kNotOfTrialNodes = {
    "nodeaddr", "nodehostname", "port", "bcastaddr", "state", "reason"};
constexpr std::array<std::string_view, 16> kTrialPartitionWords = {
    "partitionname", "nodes",        "default",       "maxtime",
    "defaulttime",   "state",        "oversubscribe", "maxnodes",
    "minnodes",      "prioritytier", "exclusiveuser", "defmempercpu",
    "defmempernode", "maxmempercpu", "maxmempernode", "maxcpuspernode"};

template <class Words>
bool IsAmong(const Words& words, const std::string& key) {
  return std::find(words.begin(), words.end(), LowerConf(key)) != words.end();
}

std::string TrialWord(const ConfWord& word) {
  return fmt::format("{}={}", word.key, WrittenConfValue(word.value));
}

}  // namespace

std::string TrialConf(const ConfText& conf, const ConfNodes& nodes, const TrialPlace& place) {
  std::string out = fmt::format(
      "SlurmctldHost={0}(127.0.0.1)\nSlurmctldPort={1}\nSlurmUser={2}\nSlurmdUser={2}\n"
      "StateSaveLocation={3}/state\nSlurmdSpoolDir={3}/spool\nSlurmctldPidFile={3}/pid\n"
      "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\nMailProg=/bin/true\n"
      "AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n"
      "MpiDefault=none\n",
      place.host, place.port, place.user, place.folder);
  for (std::size_t i = 0; i < conf.lines.size(); ++i) {
    const ConfLine& line = conf.lines[i];
    std::string text;
    const auto add = [&](const ConfWord& word) {
      text += (text.empty() ? "" : " ") + TrialWord(word);
    };
    if (line.BeginsWith("NodeName")) {
      for (const ConfWord& word : line.words) {
        if (!IsAmong(kNotOfTrialNodes, word.key)) add(word);
      }
      for (const ConfNodeLine& node : nodes.lines) {
        if (node.line != i) continue;
        const std::vector<std::string> addresses(node.nodes.size(), "127.0.0.1");
        text += fmt::format(" NodeAddr={} Port={}", fmt::join(addresses, ","), place.dead_port);
      }
    } else if (line.BeginsWith("PartitionName")) {
      for (const ConfWord& word : line.words) {
        if (IsAmong(kTrialPartitionWords, word.key)) add(word);
      }
    } else if (line.BeginsWith("NodeSet")) {
      for (const ConfWord& word : line.words) add(word);
    } else if (!IsConfRecord(line.words.front().key)) {
      for (const ConfWord& word : line.words) {
        if (IsAmong(kTrialSettings, word.key) && conf.Setting(word.key) == &word) add(word);
      }
    }
    if (!text.empty()) out += text + "\n";
  }
  return out;
}

}  // namespace sharewell::engine
