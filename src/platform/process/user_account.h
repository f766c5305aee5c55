// UserAccount: what this machine's name services say of a user, and of groups. Each call asks them
// anew, which can take as long as a directory server does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sharewell::platform {

struct UserAccount {
  std::string name;
  std::uint32_t uid = 0, gid = 0;
  std::string home, shell;
};

// Absent: there is none, or the name services do not answer.
std::optional<UserAccount> UserWithUid(std::uint32_t uid);
std::optional<UserAccount> UserNamed(const std::string& name);
// "ann"; "1000" where it has no account.
std::string UserName(std::uint32_t uid);

std::optional<std::uint32_t> GroupNamed(const std::string& name);
// Absent where it has no name.
std::optional<std::string> GroupName(std::uint32_t gid);
// All groups of a user, `gid` among them.
std::vector<std::uint32_t> GroupsOfUser(const std::string& name, std::uint32_t gid);

}  // namespace sharewell::platform
