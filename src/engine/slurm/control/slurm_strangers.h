// SlurmStrangers: what jobs that are none of ours take of each node's CPUs and memory, so that
// nothing is placed where Slurm would find no room. Jobs of our partition are known from the queue,
// look by look; those of other partitions on the same nodes from what Slurm says that the nodes
// have given out, less what the queue tells of. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

struct StrangersUse {
  int cpus = 0;
  core::Bytes memory{};

  friend bool operator==(const StrangersUse&, const StrangersUse&) = default;
};

class SlurmStrangers {
 public:
  struct Holder {
    std::vector<std::string> nodes;
    int cpus = 0;                       // of all of them
    std::optional<core::Bytes> memory;  // of each
    bool ours = false;
  };
  // By job: all of the queue that have nodes now. `nodes`: as they were read since the last look;
  // empty: they were not.
  void Take(std::map<std::int64_t, Holder> holders, const std::vector<const SlurmNode*>& nodes);

  // By node; nodes of which nothing is taken are not there.
  std::map<std::string, StrangersUse> Taken() const;

 private:
  std::map<std::int64_t, Holder> holders_;
  std::map<std::string, StrangersUse> elsewhere_;  // by jobs that the queue does not tell of
  bool gives_memory_ = false;                      // Slurm counts it (CR_Core_Memory)
};

}  // namespace sharewell::engine
