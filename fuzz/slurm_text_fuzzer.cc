// Any bytes as what Slurm's commands print as text: queue, nodes, jobs, lists of hosts and of
// tasks. Read, or refused with a reason. A value for scontrol stays one word on one line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "engine/slurm/control/slurm_claim.h"
#include "engine/slurm/read/slurm_constraint.h"
#include "engine/slurm/read/slurm_preemption.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_shares.h"
#include "engine/slurm/read/slurm_words.h"

namespace engine = sharewell::engine;

namespace {

template <class T>
void ReadOrRefused(const sharewell::core::Result<T>& result) {
  if (!result && result.error().message.empty()) __builtin_trap();
}

// As scontrol parts its line: quotes keep blanks together.
int WordsOfScontrol(std::string_view line) {
  int words = 0;
  char quote = 0;
  bool inside = false;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
    const bool blank = quote == 0 && c == ' ';
    if (!blank && !inside) ++words;
    inside = !blank;
  }
  return quote != 0 ? -1 : words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto queue = engine::ParseQueue(text);
  ReadOrRefused(queue);
  if (queue) {
    std::set<std::int64_t> seen;
    for (const auto& line : *queue) {
      if (line.id <= 0 || line.priority < 0 || !seen.insert(line.id).second) __builtin_trap();
    }
  }
  // Claims that are written again are one word of scontrol, and as many.
  if (const auto claims = engine::ClaimsIn(text)) {
    const std::string again = engine::ClaimText(*claims);
    const auto read = engine::ClaimsIn(again);
    if (!read || read->size() != claims->size()) __builtin_trap();
    if (again.find_first_of(" \n\"'\\") != std::string::npos) __builtin_trap();
  }
  const auto nodes = engine::ParseNodes(text);
  ReadOrRefused(nodes);
  if (nodes) {
    for (const auto& node : *nodes) {
      if (node.name.empty() || node.other_gpus < 0 || node.cpus < 0) __builtin_trap();
    }
  }
  ReadOrRefused(engine::ParseShowJob(text));
  ReadOrRefused(engine::ParseReservations(text));
  ReadOrRefused(engine::ParsePartitionLimits(text));
  if (const auto constraint = engine::SlurmConstraint::Parse(text, 2)) {
    for (std::size_t way = 0; way < constraint->ways(); ++way) {
      (void)constraint->Allows({"V100", "a"}, way);
    }
  }
  ReadOrRefused(engine::ParseAccount(text, 17));
  engine::SlurmShares shares;
  ReadOrRefused(engine::ParseFairShare(text, shares));
  ReadOrRefused(engine::ParseQos(text, shares));
  if (const auto lists = engine::ParsePreempt(text)) (void)engine::RanksSayIt(*lists);
  if (!(engine::WeightOf({}, shares) > 0)) __builtin_trap();
  const auto hosts = engine::ExpandHosts(text, 1000);
  ReadOrRefused(hosts);
  if (hosts && hosts->size() > 1000) __builtin_trap();
  const auto tasks = engine::ExpandTasks(text, 1000);
  ReadOrRefused(tasks);
  if (tasks && (tasks->size() > 1000 || !std::is_sorted(tasks->begin(), tasks->end()))) {
    __builtin_trap();
  }
  ReadOrRefused(engine::ParseGres(text));
  ReadOrRefused(engine::ParseSlurmTime(text));
  ReadOrRefused(engine::ParseTimeLimit(text));
  ReadOrRefused(engine::ParseSlurmMemory(text));
  const auto value = engine::ScontrolValue(text);
  ReadOrRefused(value);
  if (value) {
    if (value->find('\n') != std::string::npos) __builtin_trap();
    if (WordsOfScontrol("Comment=" + *value) != 1) __builtin_trap();
  }
  return 0;
}
