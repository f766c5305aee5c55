#include "engine/slurm/read/slurm_preemption.h"

#include <algorithm>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {

using core::FailedError;
using core::Quoted;
using core::Result;

namespace {

constexpr std::size_t kMostNamed = 1000;  // in all lists together
constexpr int kDeepest = 8;

// One above the highest that it preempts; a circle ends somewhere.
std::map<std::string, int> RanksOf(const SlurmPreemption& preemption) {
  std::map<std::string, int> ranks;
  for (int round = 0; round < kDeepest; ++round) {
    for (const auto& [name, lower] : preemption.lists) {
      for (const std::string& other : lower) ranks[name] = std::max(ranks[name], ranks[other] + 1);
    }
  }
  return ranks;
}

bool IsNamed(const std::string& qos, const SlurmPreemption& preemption) {
  return std::any_of(preemption.lists.begin(), preemption.lists.end(),
                     [&](const auto& one) { return one.second.contains(qos); });
}

}  // namespace

bool PreemptsByQos(std::string_view config) {
  while (!config.empty()) {
    const std::size_t end = std::min(config.find('\n'), config.size());
    const std::string_view line = config.substr(0, end);
    config.remove_prefix(std::min(end + 1, config.size()));
    if (!line.starts_with("PreemptType ")) continue;
    return line.find("preempt/qos") != std::string_view::npos;
  }
  return false;
}

std::vector<std::string> PreemptCommand() {
  return {"sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,Preempt"};
}

Result<SlurmPreemption> ParsePreempt(std::string_view text) {
  SlurmPreemption preemption;
  std::size_t named = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::size_t bar = line.find('|');
    if (bar == 0 || bar == std::string_view::npos || line.find('|', bar + 1) != line.npos) {
      return FailedError("sacctmgr did not print a QOS and whom it preempts, but {}", Quoted(line));
    }
    for (const std::string_view lower : SplitAtCommas(line.substr(bar + 1))) {
      if (++named > kMostNamed) return FailedError("sacctmgr names more than {} QOS", kMostNamed);
      preemption.lists[std::string(line.substr(0, bar))].emplace(lower);
    }
  }
  return preemption;
}

PreemptRank RankOf(const std::string& qos, const SlurmPreemption& preemption) {
  if (preemption.lists.empty()) return {};
  const auto ranks = RanksOf(preemption);
  const auto found = ranks.find(qos);
  return {found == ranks.end() ? 0 : found->second, preemption.lists.contains(qos),
          !IsNamed(qos, preemption)};
}

bool RanksSayIt(const SlurmPreemption& preemption) {
  const auto ranks = RanksOf(preemption);  // of all that are named anywhere
  for (const auto& [name, lower] : preemption.lists) {
    for (const auto& [other, rank] : ranks) {
      const bool gives_way = rank < ranks.at(name) && IsNamed(other, preemption);
      if (gives_way != lower.contains(other)) return false;
    }
  }
  return true;
}

}  // namespace sharewell::engine
