#include "server/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "platform/process/user_account.h"

namespace sharewell::server {
namespace {

constexpr auto kGroupsLast = std::chrono::minutes(10);
constexpr std::size_t kMostKnown = 10'000, kMostAsking = 64;

std::optional<std::uint32_t> AsNumber(const std::string& name) {
  const auto number = core::ParseWhole("id", name, 0, UINT32_MAX - 1);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<std::uint32_t> UserNamed(const std::string& name) {
  const auto user = platform::UserNamed(name);
  return user ? std::optional(user->uid) : AsNumber(name);
}

std::optional<std::uint32_t> GroupNamed(const std::string& name) {
  const auto group = platform::GroupNamed(name);
  return group ? group : AsNumber(name);
}

std::vector<std::uint32_t> GroupsOfUser(std::uint32_t uid) {
  const auto user = platform::UserWithUid(uid);
  if (!user) return {};
  return platform::GroupsOfUser(user->name, user->gid);
}

}  // namespace

NameService SystemNames() { return {UserNamed, GroupNamed, GroupsOfUser}; }

Settings::Settings(const SettingsFile& file, SettingsOptions options)
    : everybody_(file.everybody),
      options_(std::move(options)),
      projects_(file.projects),
      asking_(kMostAsking) {
  if (file.sharing.unknown_alone) unknown_ = {*file.sharing.unknown_alone, "[sharing]"};
  const bool by_name = options_.uid_of_names.has_value();
  for (const auto& [name, alone] : file.sharing.alone_of_user) {
    const api::UnknownJobs unknown{alone, fmt::format("[sharing.user.{}]", name)};
    if (by_name) unknown_of_named_[name] = unknown;
    if (const auto uid = options_.names.user(name)) {
      unknown_of_[*uid] = unknown;
    } else if (!by_name) {
      remarks_.push_back(
          fmt::format("sharewell.toml: there is no user {} on this machine, so that "
                      "[sharing.user.NAME] applies to nobody; correct the name, then restart",
                      core::Quoted(name)));
    }
  }
  for (const std::string& name : file.unknown_models) {
    remarks_.push_back(
        fmt::format("sharewell.toml: [prices] names {}, which `sharewell gpus` does not list: it "
                    "prices GPUs that call themselves so, and no others",
                    core::Quoted(name)));
  }
  const auto place = [&](const char* kind, const auto& all, const auto& number_of,
                         std::map<std::uint32_t, Table>& tables) {
    for (const auto& [name, given] : all) {
      const Table table{fmt::format("[limits.{}.{}]", kind, name), given};
      const bool named = by_name && &tables == &users_;
      if (named) named_[name] = table;
      if (const auto id = number_of(name)) {
        tables[*id] = table;
      } else if (!named) {
        remarks_.push_back(
            fmt::format("sharewell.toml: there is no {0} {1} on this machine, so that "
                        "[limits.{0}.NAME] applies to nobody; mend the name, then restart",
                        kind, core::Quoted(name)));
      }
    }
  };
  for (const core::Project& project : projects_) {
    for (const std::string& name : project.users) {
      if (by_name || options_.names.user(name)) continue;
      remarks_.push_back(
          fmt::format("sharewell.toml: there is no user {} on this machine, whom [projects.{}] "
                      "names; correct the name, then restart",
                      core::Quoted(name), project.name));
    }
  }
  place("user", file.users, options_.names.user, users_);
  place("group", file.groups, options_.names.group, groups_);
}

Settings::Known& Settings::Remember(std::uint32_t uid) const {
  if (known_.size() > kMostKnown) known_.clear();
  return known_[uid];
}

void Settings::Meet(std::uint32_t uid, std::vector<std::uint32_t> groups) const {
  const auto now = std::chrono::steady_clock::now();
  const platform::MutexLock lock(mutex_);
  Known& known = Remember(uid);
  if (known.asked != decltype(known.asked){} && now - known.asked < kGroupsLast) return;
  known = {std::move(groups), now, known.asking};
}

std::vector<std::uint32_t> Settings::GroupsOf(std::uint32_t uid) const {
  if (groups_.empty() && !options_.admin_group) return {};
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::uint32_t> groups;
  {
    const platform::MutexLock lock(mutex_);
    Known& known = Remember(uid);
    groups = known.groups;
    const bool fresh = known.asked != decltype(known.asked){} && now - known.asked < kGroupsLast;
    if (fresh || known.asking) return groups;
    known.asking = true;
  }
  const bool put = asking_.Put([this, uid] {
    auto found = options_.names.groups_of(uid);
    const platform::MutexLock lock(mutex_);
    Remember(uid) = {std::move(found), std::chrono::steady_clock::now(), false};
  });
  if (!put) {
    const platform::MutexLock lock(mutex_);
    Remember(uid).asking = false;
  }
  return groups;
}

core::AccountLimits Settings::Resolve(std::uint32_t uid, const std::string& name, bool admin,
                                      bool explain) const {
  const std::vector<std::uint32_t> groups = GroupsOf(uid);
  const auto in = [&](std::uint32_t group) {
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  };
  admin = admin || uid == 0 || uid == options_.own_uid ||
          (options_.admin_group && in(*options_.admin_group));
  const Table* own = nullptr;
  if (uid == options_.uid_of_names) {
    if (const auto found = named_.find(name); found != named_.end()) own = &found->second;
  } else if (const auto found = users_.find(uid); found != users_.end()) {
    own = &found->second;
  }
  core::AccountLimits out;
  out.limits = admin ? core::AdminLimits() : core::Limits{};
  for (std::size_t i = 0; i < core::LimitKeys().size(); ++i) {
    const core::LimitKey& key = core::LimitKeys()[i];
    static const std::string kAll = "[limits]", kUsual = "default", kAdmins = "default of admins";
    const double usual = core::ValueOf(out.limits, key);
    std::optional<double> value = everybody_[i];
    const std::string* from = &kAll;
    bool by_group = false;
    for (const auto& [gid, table] : groups_) {
      if (!table.given[i] || !in(gid) || (by_group && *table.given[i] <= *value)) continue;
      value = table.given[i];
      from = &table.from;
      by_group = true;
    }
    if (!value || (admin && *value <= usual)) {
      value = usual;
      from = admin ? &kAdmins : &kUsual;
    }
    if (own != nullptr && own->given[i]) {
      value = own->given[i];
      from = &own->from;
    }
    core::SetValue(out.limits, key, *value);
    if (explain) out.from.push_back(*from);
  }
  return out;
}

core::Limits Settings::LimitsOf(std::uint32_t uid) const {
  return Resolve(uid, "", false, false).limits;
}

core::Limits Settings::LimitsOf(const core::Account& who) const {
  return Resolve(who.uid, who.name, who.admin, false).limits;
}

api::UnknownJobs Settings::UnknownOf(const core::Account& who) const {
  if (who.uid == options_.uid_of_names) {
    const auto named = unknown_of_named_.find(who.name);
    return named == unknown_of_named_.end() ? unknown_ : named->second;
  }
  const auto own = unknown_of_.find(who.uid);
  return own == unknown_of_.end() ? unknown_ : own->second;
}

core::AccountLimits Settings::Explain(const core::Account& who) const {
  return Resolve(who.uid, who.name, who.admin, true);
}

}  // namespace sharewell::server
