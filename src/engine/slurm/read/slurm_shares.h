// What Slurm's accounting says of who goes first: the fair-share factor of each user in each
// account, and the priority of each QOS. They come in as the weight of a job's user. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

struct SlurmShares {
  std::map<std::pair<std::string, std::string>, double> fair;  // by user and account: 0 to 1
  std::map<std::string, double> qos;                           // priorities by name

  friend bool operator==(const SlurmShares&, const SlurmShares&) = default;
};

std::vector<std::string> FairShareCommand();
core::Result<void> ParseFairShare(std::string_view text, SlurmShares& to);
std::vector<std::string> QosCommand();
core::Result<void> ParseQos(std::string_view text, SlurmShares& to);

// The fair-share factor, twice that for the QOS of the highest priority; 1 where nothing is known
// of anybody. In steps, as every change of it makes the queue be looked at anew.
double WeightOf(const SlurmJob& job, const SlurmShares& shares);

}  // namespace sharewell::engine
