// PairMemory: what workloads were measured to do to each other, from every source: runs on this
// server, and the pairs we carry in the program for workloads of the same name. Bounded: keys
// without a pair that were not met for longest go. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cluster.h"
#include "core/job_record.h"
#include "core/profile.h"
#include "interference/pair_table.h"
#include "server/run_memory.h"

namespace sharewell::server {

class PairMemory {
 public:
  // `builtin` must outlive it. `most_keys`: of those that have no pair.
  PairMemory(const core::Cluster& cluster, const core::Measurements& builtin,
             std::size_t most_keys = 5000);

  // The same for a key as long as it is remembered. No other key ever has it.
  core::WorkloadId IdOf(const KeyDigest& key);
  std::size_t keys() const { return ids_.size(); }  // that are remembered
  // Jobs of that key train this. Whether there is anything new in that.
  bool Name(core::WorkloadId id, const core::Workload& workload);
  void Add(const core::SharedRun& run);
  // Of what was measured here the last 10,000 runs count, and where there are any, nothing else.
  interference::PairTable Table() const;

 private:
  struct Pair {
    core::GpuModelId model;
    core::WorkloadId a, b;
    core::Ratio speed_a = 1, speed_b = 1;
    bool fits = true;
    core::Ratio sm_share_a = 1, sm_share_b = 1;
  };

  struct Known {
    core::WorkloadId id;
    std::uint64_t met = 0;
  };

  void AddBuiltin(std::vector<Pair>& pairs) const;
  void ForgetKeys();

  const core::Cluster& cluster_;
  const core::Measurements& builtin_;
  const std::size_t most_keys_;
  std::unordered_map<KeyDigest, Known, HashOfDigest> ids_;
  std::size_t given_ = 0;  // ids
  std::size_t forget_at_;  // so many keys
  std::uint64_t clock_ = 0;
  std::vector<std::pair<core::WorkloadId, core::Workload>> named_;  // those we carry pairs of
  std::deque<Pair> here_;
};

}  // namespace sharewell::server
