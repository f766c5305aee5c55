// StoredProfiles: which profile of the store `--profile NAME` means, by who asks.
//
// A name is anybody's to choose (`submit --name bert`), so names are by user: an admin's profile of
// that name first, then one that the user's own jobs left, and another user's never. An admin's are
// those that were measured into the store on purpose (`sharewell profile`, `sweep`, `import`: who
// may write it is an admin), before those that an admin's jobs left.
//
// The loop's thread alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/cluster.h"
#include "core/job/profile_record.h"
#include "core/result.h"
#include "store/store.h"

namespace sharewell::server {

class StoredProfiles {
 public:
  // All must outlive it.
  StoredProfiles(const core::Cluster& cluster, const catalogue::GpuCatalogue& catalogue,
                 store::ProfileStore& store)
      : cluster_(cluster), catalogue_(catalogue), store_(store) {}

  // Null: there is none for that user.
  core::Result<const core::ProfileRecord*> Find(const std::string& user, const std::string& name);
  // A usage error that says what there is.
  core::Result<void> Check(const std::string& user, const std::string& name);
  // It was written anew; it may have had another name.
  void Changed(std::int64_t id, const std::string& name);
  void ChangedAll() { read_.clear(); }
  // That of an older version, which has no owner in the store.
  void Adopt(std::int64_t id, const std::string& user) { adopted_[id] = user; }

 private:
  struct ReadProfile {
    std::chrono::steady_clock::time_point at;
    core::ProfileRecord record;
  };

  bool CountsFor(const std::string& user, const core::ProfileRecord& record) const;

  const core::Cluster& cluster_;
  const catalogue::GpuCatalogue& catalogue_;
  store::ProfileStore& store_;
  std::map<std::pair<std::string, std::string>, ReadProfile> read_;  // by name and user
  std::vector<core::ProfileRecord> all_;  // names and owners alone, as of all_at_
  std::chrono::steady_clock::time_point all_at_{};
  std::unordered_map<std::int64_t, std::string> adopted_;
};

}  // namespace sharewell::server
