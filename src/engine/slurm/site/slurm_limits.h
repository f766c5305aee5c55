// Limits and prices of GPUs in Slurm's accounting, and what they are in shards: a placed job has
// shards, 100 for a whole GPU, and none of what counts GPUs sees it. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::engine {

// One field with TRES in it: "MaxTRESPU" of the QOS "normal" is "cpu=8,gres/gpu=2".
struct SlurmLimit {
  std::string of;      // "QOS normal", "account lab", "user ann of account lab"
  std::string modify;  // what sacctmgr calls it: "qos normal", "user ann account=lab"
  std::string field;
  std::string tres;

  friend bool operator==(const SlurmLimit&, const SlurmLimit&) = default;
};

std::vector<std::string> QosLimitsCommand();
core::Result<std::vector<SlurmLimit>> ParseQosLimits(std::string_view text);
// Of one cluster's associations.
std::vector<std::string> AssociationLimitsCommand(const std::string& cluster);
core::Result<std::vector<SlurmLimit>> ParseAssociationLimits(std::string_view text);

// "cpu=8,gres/gpu=2": the value of "gres/gpu" in any case; absent: it is not there.
std::optional<std::string> TresValue(std::string_view tres, std::string_view name);
// Of the first "gres/gpu:TYPE"; absent: there is none.
std::optional<std::string> TypedGpuValue(std::string_view tres);

// "CPU=1,GRES/gpu=10" lacks "GRES/shard=0.1"; absent: it lacks nothing, or its weight is no number.
std::optional<std::string> ShardWeightMissing(std::string_view billing);

}  // namespace sharewell::engine
