// Which QOS of Slurm takes the place of which (PreemptType=preempt/qos), as ranks: a job of higher
// rank that preempts may take the place of one of lower rank. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::engine {

struct SlurmPreemption {
  std::map<std::string, std::set<std::string>> lists;  // by the QOS that preempts those

  friend bool operator==(const SlurmPreemption&, const SlurmPreemption&) = default;
};

// Of what `scontrol show config` prints.
bool PreemptsByQos(std::string_view config);
std::vector<std::string> PreemptCommand();
core::Result<SlurmPreemption> ParsePreempt(std::string_view text);

struct PreemptRank {
  int rank = 0;
  bool preempts = false;
  bool keeps_place = false;  // nobody's list names it

  friend bool operator==(const PreemptRank&, const PreemptRank&) = default;
};
// Where nobody preempts: as all.
PreemptRank RankOf(const std::string& qos, const SlurmPreemption& preemption);
// Ranks say no less and no more than the lists do.
bool RanksSayIt(const SlurmPreemption& preemption);

}  // namespace sharewell::engine
