// KeptProfiles: the profiles in the store that jobs left, by user and age, and what removes those
// that are too many: the user with most loses their oldest, a few at a time.
//
// The loop's thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/job/profile_record.h"
#include "core/metric.h"
#include "core/result.h"
#include "store/store.h"

namespace sharewell::server {

class KeptProfiles {
 public:
  // `store` must outlive it; `say` hears what could not be removed. `most`, or a few more, stay.
  KeptProfiles(store::ProfileStore& store, std::size_t most,
               std::function<void(const std::string&)> log)
      : store_(store), most_(most), log_(std::move(log)) {}

  // What earlier servers left, the oldest first; what is too much is removed.
  core::Result<std::vector<core::ProfileRecord>> Read();
  // One is in the store now.
  void Add(const std::string& user, std::int64_t id, core::UnixMillis created);
  // Removes all of that user's.
  void Forget(const std::string& user);

 private:
  using ByAge = std::set<std::pair<core::UnixMillis, std::int64_t>>;  // created, id
  struct Known {
    std::string user;
    core::UnixMillis created = 0;
  };

  void Put(const std::string& user, std::int64_t id, core::UnixMillis created);
  // Takes those that are too many out of what is known, and removes them.
  std::set<std::int64_t> DropOldest();
  void Remove(const std::vector<std::int64_t>& ids);

  store::ProfileStore& store_;
  const std::size_t most_;
  const std::function<void(const std::string&)> log_;
  std::map<std::string, ByAge> by_user_;
  std::unordered_map<std::int64_t, Known> known_;  // by id
};

}  // namespace sharewell::server
