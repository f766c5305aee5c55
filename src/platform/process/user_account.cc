#include "platform/process/user_account.h"

#include <grp.h>
#include <pwd.h>
#include <sys/types.h>

#include <algorithm>

namespace sharewell::platform {
namespace {

constexpr std::size_t kEntryBytes = 1 << 16;

// `ask` is one of getpwuid_r, getpwnam_r.
template <class Ask, class Key>
std::optional<UserAccount> AskForUser(Ask ask, Key key) {
  std::vector<char> room(kEntryBytes);
  passwd entry{}, *found = nullptr;
  if (ask(key, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  const auto text = [](const char* field) { return std::string(field != nullptr ? field : ""); };
  return UserAccount{text(entry.pw_name), entry.pw_uid, entry.pw_gid, text(entry.pw_dir),
                     text(entry.pw_shell)};
}

}  // namespace

std::optional<UserAccount> UserWithUid(std::uint32_t uid) { return AskForUser(::getpwuid_r, uid); }

std::optional<UserAccount> UserNamed(const std::string& name) {
  return AskForUser(::getpwnam_r, name.c_str());
}

std::string UserName(std::uint32_t uid) {
  const auto user = UserWithUid(uid);
  return user ? user->name : std::to_string(uid);
}

std::optional<std::uint32_t> GroupNamed(const std::string& name) {
  std::vector<char> room(kEntryBytes);
  group entry{}, *found = nullptr;
  ::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  return found != nullptr ? std::optional<std::uint32_t>(entry.gr_gid) : std::nullopt;
}

std::optional<std::string> GroupName(std::uint32_t gid) {
  std::vector<char> room(kEntryBytes);
  group entry{}, *found = nullptr;
  ::getgrgid_r(gid, &entry, room.data(), room.size(), &found);
  return found != nullptr ? std::optional<std::string>(entry.gr_name) : std::nullopt;
}

std::vector<std::uint32_t> GroupsOfUser(const std::string& name, std::uint32_t gid) {
  int count = 256;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(std::max(count, 1)));
    count = static_cast<int>(groups.size());
    if (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) return {gid};
  }
  if (count <= 0) return {gid};
  return {groups.begin(), groups.begin() + count};
}

}  // namespace sharewell::platform
