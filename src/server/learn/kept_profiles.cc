#include "server/learn/kept_profiles.h"

#include <algorithm>
#include <tuple>

#include "core/job/most_lose.h"

namespace sharewell::server {
namespace {

using core::ProfileRecord;

constexpr std::size_t kRemovedAtOnce = 100;  // others wait meanwhile

}  // namespace

core::Result<std::vector<ProfileRecord>> KeptProfiles::Read() {
  auto kept = store_.Profiles({.id = {}, .name = {}, .workload = {}, .gpu = {}, .source = "job"});
  RETURN_IF_ERROR(kept);
  for (const ProfileRecord& record : *kept) Put(record.user, record.id, record.created);
  const std::set<std::int64_t> gone = DropOldest();
  std::erase_if(*kept, [&](const ProfileRecord& record) { return gone.contains(record.id); });
  std::sort(kept->begin(), kept->end(), [](const ProfileRecord& a, const ProfileRecord& b) {
    return std::tie(a.created, a.id) < std::tie(b.created, b.id);
  });
  return kept;
}

void KeptProfiles::Add(const std::string& user, std::int64_t id, core::UnixMillis created) {
  Put(user, id, created);
  if (known_.size() >= most_ + kRemovedAtOnce) DropOldest();
}

void KeptProfiles::Put(const std::string& user, std::int64_t id, core::UnixMillis created) {
  if (const auto it = known_.find(id); it != known_.end()) {
    by_user_[it->second.user].erase({it->second.created, id});
  }
  known_[id] = {user, created};
  by_user_[user].emplace(created, id);
}

std::set<std::int64_t> KeptProfiles::DropOldest() {
  std::map<std::string, std::size_t> counts;
  for (const auto& [user, profiles] : by_user_) counts[user] = profiles.size();
  std::vector<std::int64_t> old;
  for (const auto& [user, count] : core::MostLose(counts, most_)) {
    ByAge& profiles = by_user_[user];
    for (std::size_t i = 0; i < count; ++i) {
      old.push_back(profiles.begin()->second);
      known_.erase(old.back());
      profiles.erase(profiles.begin());
    }
  }
  Remove(old);
  return {old.begin(), old.end()};
}

void KeptProfiles::Forget(const std::string& user) {
  std::vector<std::int64_t> ids;
  for (const auto& [created, id] : by_user_[user]) {
    ids.push_back(id);
    known_.erase(id);
  }
  by_user_.erase(user);
  Remove(ids);
}

void KeptProfiles::Remove(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return;
  if (const auto removed = store_.RemoveProfiles(ids); !removed && log_) {
    log_("old profiles of jobs were not removed: " + removed.error().message);
  }
}

}  // namespace sharewell::server
