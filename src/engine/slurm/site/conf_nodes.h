// The nodes and partitions of a slurm.conf, with what DEFAULT lines give them. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/slurm/site/conf_lines.h"

namespace sharewell::engine {

// A NodeName line (DEFAULT lines are none) and what counts for each of its nodes.
struct ConfNodeLine {
  std::size_t line = 0;  // in ConfText::lines
  std::vector<std::string> nodes;
  std::string gres, features;  // its own, else those of DEFAULT
};

struct ConfPartition {
  std::size_t line = 0;
  std::string name;
  std::vector<std::string> nodes;
  std::string billing;  // TRESBillingWeights, its own or of DEFAULT
  bool own_billing = false;
};

struct ConfNodes {
  std::vector<ConfNodeLine> lines;
  std::vector<ConfPartition> partitions;
  std::map<std::string, std::size_t> by_name;  // node -> index in `lines`

  const ConfPartition* Partition(std::string_view name) const;
  // The line that has it; nullptr: none.
  const ConfNodeLine* LineOf(const std::string& node) const;
};

// Refused with file and line: a list of names that cannot be read, a node that is there twice.
core::Result<ConfNodes> NodesOfConf(const ConfText& conf);

// "gpu007" -> 7, "/dev/nvidia0" -> 0: what it ends in, of at most nine digits; -1: no such number.
std::int64_t NumberAtEnd(const std::string& name);

// "n1,n2,n3,m7" -> "n[1-3],m7": as short as ranges of the last number make it, in the given order.
std::string HostList(const std::vector<std::string>& names);

}  // namespace sharewell::engine
