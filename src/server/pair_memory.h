// PairMemory: what workloads were measured to do to each other, from every source: runs on this
// server, and the pairs we carry in the program for workloads of the same name. Pure.
#pragma once

#include <cstddef>
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
  // `builtin` must outlive it.
  PairMemory(const core::Cluster& cluster, const core::Measurements& builtin);

  // Always the same for a key.
  core::WorkloadId IdOf(const KeyDigest& key);
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
  };

  void AddBuiltin(std::vector<Pair>& pairs) const;

  const core::Cluster& cluster_;
  const core::Measurements& builtin_;
  std::unordered_map<KeyDigest, core::WorkloadId, HashOfDigest> ids_;
  std::vector<std::pair<core::WorkloadId, core::Workload>> named_;  // those we carry pairs of
  std::deque<Pair> here_;
};

}  // namespace sharewell::server
