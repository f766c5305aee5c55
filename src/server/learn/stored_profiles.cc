#include "server/learn/stored_profiles.h"

#include <algorithm>
#include <tuple>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::server {
namespace {

using core::ProfileRecord;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kProfileKept{5};  // a named profile is not read again for so long
constexpr std::size_t kMostNamesRead = 1000;

bool IsLeftByJob(const ProfileRecord& record) { return record.source == "job"; }

}  // namespace

bool StoredProfiles::CountsFor(const std::string& user, const ProfileRecord& record) const {
  if (!IsLeftByJob(record) || record.by_admin) return true;
  const auto adopted = adopted_.find(record.id);
  const bool old = record.user.empty() && adopted != adopted_.end();
  return (old ? adopted->second : record.user) == user;
}

core::Result<const ProfileRecord*> StoredProfiles::Find(const std::string& user,
                                                        const std::string& name) {
  const auto time = SteadyClock::now();
  const std::pair key(name, user);
  if (const auto it = read_.find(key); it != read_.end() && time - it->second.at < kProfileKept) {
    return &it->second.record;
  }
  const auto found =
      store_.Profiles({.id = {}, .name = name, .workload = {}, .gpu = {}, .source = {}});
  RETURN_IF_ERROR(found);
  // Whose first; then on a GPU of this machine before others, with a busy share before without, the
  // newest of equals.
  const auto rank = [&](const ProfileRecord& record) {
    const auto model = catalogue_.Find(record.profile.gpu);
    const std::string& gpu = model ? model->name : record.profile.gpu;
    const bool here = std::any_of(cluster_.models().begin(), cluster_.models().end(),
                                  [&](const core::GpuModel& m) { return m.name == gpu; });
    return std::tuple(!IsLeftByJob(record), record.by_admin, here, record.profile.busy.has_value(),
                      record.created, record.id);
  };
  const ProfileRecord* best = nullptr;
  for (const ProfileRecord& record : *found) {
    if (!CountsFor(user, record)) continue;
    if (best == nullptr || rank(record) > rank(*best)) best = &record;
  }
  if (best == nullptr) {
    read_.erase(key);
    return nullptr;
  }
  if (read_.size() >= kMostNamesRead) read_.clear();
  return &(read_[key] = {time, *best}).record;
}

core::Result<void> StoredProfiles::Check(const std::string& user, const std::string& name) {
  const auto found = Find(user, name);
  if (!found) {
    return tl::unexpected(core::Error(found.error()).Within("profile " + core::Quoted(name)));
  }
  if (*found != nullptr) return {};
  // Read once in a while: whoever errs often must not keep the store busy.
  const auto time = SteadyClock::now();
  if (time - all_at_ > kProfileKept) {
    all_.clear();
    if (const auto all = store_.Profiles({})) {
      for (const ProfileRecord& record : *all) {
        ProfileRecord& kept = all_.emplace_back();
        kept.id = record.id;
        kept.name = record.name;
        kept.source = record.source;
        kept.user = record.user;
        kept.by_admin = record.by_admin;
      }
    }
    all_at_ = time;
  }
  std::vector<std::string> names;
  bool of_others = false;
  for (const ProfileRecord& record : all_) {
    if (CountsFor(user, record)) {
      names.push_back(record.name);
    } else {
      of_others = of_others || record.name == name;
    }
  }
  if (of_others) {
    return core::UsageError(
        "profile {} was left by jobs of other users, and counts for their jobs alone; run the job "
        "once without --profile, or have an admin measure it with `sharewell profile`",
        core::Quoted(name));
  }
  return core::UsageError(
      "there is no profile {} in the server's store; `sharewell profiles` lists them{}",
      core::Quoted(name), core::DidYouMean(name, names));
}

void StoredProfiles::Changed(std::int64_t id, const std::string& name) {
  std::erase_if(read_, [&](const auto& entry) {
    return entry.first.first == name || entry.second.record.id == id;
  });
}

}  // namespace sharewell::server
