// UserLimits: the resource limits that this machine's administrator gives a user at login,
// /etc/security/limits.conf and limits.d/*.conf (limits.conf(5)). A job that is started for a user
// passes no login, so they are read here.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/process/user_account.h"

namespace sharewell::platform {

struct ProcessLimit {
  int resource = 0;  // RLIMIT_NOFILE...
  // RLIM_INFINITY: none. Absent: as it is.
  std::optional<rlim_t> soft, hard;

  friend bool operator==(const ProcessLimit&, const ProcessLimit&) = default;
};

// A line of such a file: "@students hard nproc 500".
struct LimitLine {
  std::string domain;
  bool soft = false, hard = false;
  int resource = 0;
  rlim_t value = 0;
};
// What is no such line, or of a kind that no process has (maxlogins, priority), is left out.
std::vector<LimitLine> ReadLimitLines(std::string_view text);

// Those that hold for a user of these groups (names), one a resource, by its number. A line for the
// user goes before one for a group, and that before one for everybody; of two such the later.
// Lines for groups and for everybody are not for root.
std::vector<ProcessLimit> LimitsOf(const std::vector<LimitLine>& lines, const UserAccount& user,
                                   const std::vector<std::uint32_t>& gids,
                                   const std::vector<std::string>& groups);

// As this machine's files say now. None where there are no such files.
std::vector<ProcessLimit> UserLimits(const UserAccount& user,
                                     const std::string& folder = "/etc/security");

// This process's own limit as a child has it to which those were given: within ours.
rlimit LimitWith(const std::vector<ProcessLimit>& limits, int resource);

}  // namespace sharewell::platform
