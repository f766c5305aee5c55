// Access: who is asking, and whether they may. The kernel says it at a Unix socket, a token
// elsewhere; what a request says of itself is never believed.
//
// One thread. Name services are asked once in a while for a user's name; what they say is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/access/refusal.h"
#include "api/access/sign_ins.h"
#include "api/access/tokens.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "http/http_message.h"

namespace sharewell::api {

inline constexpr std::string_view kSignInPath = "/api/v1/sign-in";

struct AccessOptions {
  std::string token_file;
  std::optional<std::uint32_t> admin_group = {};  // whose members are admins
  std::uint32_t own_uid = 0;                      // the server's: it may do all
  // Hears of the groups that the kernel tells of whoever calls.
  std::function<void(std::uint32_t uid, std::vector<std::uint32_t> groups)> met = {};
};

class Access {
 public:
  explicit Access(AccessOptions options);

  // Absent: nobody in particular, who may read at a loopback listening address.
  Allowed<std::optional<core::Account>> Who(const http::HttpRequest& request);
  // The same for a request as a whole: a browser on another site's behalf may not write, nobody in
  // particular may read alone, and that on loopback, or bring a code to sign in.
  Allowed<std::optional<core::Account>> Admit(const http::HttpRequest& request);

  // The job is theirs, or they are admins. Absent: 401.
  static Allowed<void> Touch(const std::optional<core::Account>& who, std::uint32_t owner);
  // A server that is not root can run jobs as itself alone.
  Allowed<void> RunAs(const core::Account& who) const;
  SignIns& sign_ins() { return sign_ins_; }

 private:
  Allowed<std::optional<core::Account>> FromKernel(const http::Peer& peer);

  AccessOptions options_;
  TokenFile tokens_;
  SignIns sign_ins_;
  struct Known {
    std::optional<std::string> name;  // absent: it has no account
    std::chrono::steady_clock::time_point asked;
  };
  std::map<std::uint32_t, Known> names_;
};

// Whether the kernel says that who called is in it.
bool InGroup(const http::Peer& peer, std::uint32_t group);
// A group's number, by its name or number.
core::Result<std::uint32_t> GroupNamed(const std::string& flag, const std::string& name);
// Of this machine; no admin unless it is root. Absent: there is none of that name.
std::optional<core::Account> AccountNamed(const std::string& name);

}  // namespace sharewell::api
