#include "engine/slurm/control/slurm_strangers.h"

#include <algorithm>
#include <utility>

namespace sharewell::engine {
namespace {

// On each of its nodes as much; one that has an uneven number has the more everywhere.
StrangersUse OnEachNode(const SlurmStrangers::Holder& holder) {
  const int nodes = std::max(static_cast<int>(holder.nodes.size()), 1);
  return {(holder.cpus + nodes - 1) / nodes, holder.memory.value_or(core::Bytes(0))};
}

void Add(const SlurmStrangers::Holder& holder, std::map<std::string, StrangersUse>& to) {
  const StrangersUse each = OnEachNode(holder);
  for (const std::string& node : holder.nodes) {
    to[node].cpus += each.cpus;
    to[node].memory += each.memory;
  }
}

}  // namespace

void SlurmStrangers::Take(std::map<std::int64_t, Holder> holders,
                          const std::vector<const SlurmNode*>& nodes) {
  if (!nodes.empty()) {
    // The nodes were read after the queue of the last look and before that of this one: whoever
    // began or ended between them is in one of the two.
    std::map<std::string, StrangersUse> told;
    for (const auto& [id, holder] : holders) Add(holder, told);
    for (const auto& [id, holder] : holders_) {
      if (!holders.contains(id)) Add(holder, told);
    }
    elsewhere_.clear();
    gives_memory_ = std::any_of(nodes.begin(), nodes.end(), [](const SlurmNode* node) {
      return node->memory_used > core::Bytes(0);
    });
    for (const SlurmNode* node : nodes) {
      const StrangersUse& here = told[node->name];
      const StrangersUse rest{std::max(node->cpus_used - here.cpus, 0),
                              std::max(node->memory_used - here.memory, core::Bytes(0))};
      if (rest != StrangersUse()) elsewhere_[node->name] = rest;
    }
  }
  holders_ = std::move(holders);
}

std::map<std::string, StrangersUse> SlurmStrangers::Taken() const {
  std::map<std::string, StrangersUse> taken = elsewhere_;
  for (const auto& [id, holder] : holders_) {
    if (!holder.ours) Add(holder, taken);
  }
  for (auto& [node, one] : taken) {
    if (!gives_memory_) one.memory = core::Bytes(0);
  }
  std::erase_if(taken, [](const auto& one) { return one.second == StrangersUse(); });
  return taken;
}

}  // namespace sharewell::engine
