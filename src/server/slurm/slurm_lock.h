// ClusterLock: one server on this machine places the jobs of a Slurm partition. Another one, with a
// store of its own, would decide on the same jobs: Slurm would still start each of them once, but
// both would hold and move what the other has placed. Servers on different machines know of each
// other by what they write into Slurm (engine/slurm/control/slurm_claim.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "engine/slurm/control/slurm_claim.h"
#include "engine/slurm/read/slurm_driver.h"

namespace sharewell::server {

// Held until it is destroyed, or this process has ended, however it did.
class ClusterLock {
 public:
  ClusterLock() = default;
  ~ClusterLock();
  ClusterLock(ClusterLock&& other) noexcept : files_(std::exchange(other.files_, {})) {}
  ClusterLock& operator=(ClusterLock&& other) noexcept {
    std::swap(files_, other.files_);
    return *this;
  }

  // `folder`: is made, where root alone may write. `partition`: empty: all of them. `who`: tells
  // others who holds it. An error: another one does, and who; or it cannot be told.
  static core::Result<ClusterLock> Take(const std::string& folder, const std::string& cluster,
                                        const std::string& partition, const std::string& who);

 private:
  std::vector<int> files_;
};

inline constexpr const char* kSlurmLocks = "/run/sharewell";

// What this server says of itself in Slurm. `locks`: where ClusterLock is taken; there is a name of
// this machine too, made by the first who asks: who has that lock knows that a claim of the same
// machine is that of a server that is gone. Not root: without.
engine::SlurmClaim ClaimHere(const std::string& partition, const std::string& host,
                             const std::string& store, const std::string& locks = kSlurmLocks);

// One name for each cluster: its own, and where its slurmctld listens.
core::Result<std::string> ClusterName(engine::SlurmDriver& driver);

}  // namespace sharewell::server
