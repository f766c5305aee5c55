// PairMemory: what workloads were measured to do to each other, from every source: runs on this
// server, and the pairs we carry in the program for workloads of the same name. What was measured
// counts for the two users' jobs alone. Bounded: keys without a pair that were not met for longest
// go, and of runs the two users with most lose their oldest. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/job/job_record.h"
#include "core/job/profile.h"
#include "interference/pair_table.h"
#include "server/learn/run_memory.h"

namespace sharewell::server {

class PairMemory {
 public:
  // `builtin` must outlive it. `most_keys`: of those that have no pair.
  PairMemory(const core::Cluster& cluster, const core::Measurements& builtin,
             std::size_t most_keys = 5000);

  // The same for a user's key (OwnedDigest) as long as it is remembered. No other ever has it.
  core::WorkloadId IdOf(const KeyDigest& key);
  std::size_t keys() const { return ids_.size(); }  // that are remembered
  // Jobs of that key train this. Whether there is anything new in that.
  bool Name(core::WorkloadId id, const core::Workload& workload);
  // What nobody measured is left out.
  void Add(const core::SharedRun& run);
  // What that user's jobs taught, with whomever.
  void Forget(const std::string& user);
  // Of what was measured here the last 10,000 runs count, and where there are any, nothing else. Of
  // a pair that was measured several times with the same shares of the SMs the mean counts, unless
  // the newest is worse: what was learnt by parting them must not be averaged away.
  interference::PairTable Table() const;

 private:
  struct Pair {
    core::GpuModelId model;
    core::WorkloadId a, b;
    std::optional<core::Ratio> speed_a, speed_b;
    bool fits = true;
    core::Ratio share_a = 1, share_b = 1;
    std::size_t users = 0;  // whose two jobs they were: in users_
  };

  // One pair with the same shares, newest first.
  struct Measured {
    Pair newest;
    struct Mean {
      std::optional<core::Ratio> newest;
      double sum = 0;
      int count = 0;
      void Add(std::optional<core::Ratio> speed);
      std::optional<core::Ratio> Taken() const;
    };
    Mean a, b;
    bool any = false;
    void Add(const Pair& pair);
    Pair Taken() const;
  };

  struct Known {
    core::WorkloadId id;
    std::uint64_t met = 0;
  };

  void DropOldest();
  std::vector<const Pair*> InTurn() const;
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
  // Two users, in order, and how many of here_ are theirs.
  struct Users {
    std::string first, second;
    std::size_t runs = 0;
  };
  std::vector<Users> users_;
  std::map<std::pair<std::string, std::string>, std::size_t> users_at_;  // in users_
};

}  // namespace sharewell::server
