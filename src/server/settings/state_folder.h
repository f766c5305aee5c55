// What a server's state folder knows by itself, whatever store it is used with: which store its
// runs belong to, and the key that seals that store's records (store/jobs/seal.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/runner.h"
#include "store/job_store.h"

namespace sharewell::server {

// What to do with runs that belong to another store.
enum class OtherRuns { kRefuse, kAdopt, kEnd };
core::Result<OtherRuns> OtherRunsNamed(const std::string& name);  // of --runs

struct StateOwner {
  std::string id;     // store::JobStore::Id
  std::string place;  // for people, without a password
};
// Absent: no server has been there, or one that did not write it yet.
std::optional<StateOwner> OwnerOf(const std::string& state);
core::Result<void> SetOwner(const std::string& state, const StateOwner& owner);

// The runs in the folder that are not those of `jobs`' jobs.
core::Result<std::vector<engine::RunRequest>> RunsOfOthers(const std::string& state,
                                                           store::JobStore& jobs);
core::Error RefusalOf(const std::string& state, const std::vector<engine::RunRequest>& runs);
// Makes them jobs of this store, by what their folders say. All or none: fails where it has other
// jobs with these numbers.
core::Result<void> AdoptRuns(const std::string& state, const std::vector<engine::RunRequest>& runs,
                             store::JobStore& jobs);

// Made at random the first time. Fails where others may read or write it, or where it is no key.
core::Result<std::string> SealKey(const std::string& state);

}  // namespace sharewell::server
