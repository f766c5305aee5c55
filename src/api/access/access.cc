#include "api/access/access.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "platform/process/user_account.h"

namespace sharewell::api {
namespace {

constexpr std::chrono::seconds kNameLasts{600};
constexpr std::chrono::seconds kNoNameLasts{5};  // a name service may have been away
constexpr std::size_t kMostNames = 10'000;

tl::unexpected<Refusal> Refused(int status, std::string words) {
  return tl::unexpected(Refusal{status, std::move(words)});
}

// "localhost:10401" without its port.
std::string_view HostOf(std::string_view authority) {
  const auto bracket = authority.find(']');
  if (authority.starts_with('[') && bracket != std::string_view::npos) {
    return authority.substr(0, bracket + 1);
  }
  return authority.substr(0, authority.find(':'));
}

// What tells nothing of this server: whether it works, and the dashboard's own files.
bool IsOpen(std::string_view path) {
  return path == "/healthz" || path == "/" || path.starts_with("/dashboard/");
}

bool IsLoopbackName(std::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Access::Access(AccessOptions options)
    : options_(std::move(options)), tokens_(options_.token_file) {}

Allowed<std::optional<core::Account>> Access::FromKernel(const http::Peer& peer) {
  const std::uint32_t uid = *peer.uid;
  const auto now = std::chrono::steady_clock::now();
  if (names_.size() > kMostNames) names_.clear();
  auto [it, fresh] = names_.try_emplace(uid, Known{});
  Known& known = it->second;
  if (fresh || now - known.asked > (known.name ? kNameLasts : kNoNameLasts)) {
    auto user = platform::UserWithUid(uid);
    known = {user ? std::optional(std::move(user->name)) : std::nullopt, now};
  }
  // One person can have thousands of these (/etc/subuid), and limits go by user.
  if (!known.name && uid != 0 && uid != options_.own_uid) {
    return Refused(403, fmt::format("uid {} has no account on this machine; ask as the user whose "
                                    "process this is: outside of the container, or with a token",
                                    uid));
  }
  if (options_.met) {
    std::vector<std::uint32_t> groups(peer.groups.begin(), peer.groups.end());
    if (peer.gid) groups.push_back(*peer.gid);
    options_.met(uid, std::move(groups));
  }
  const bool admin = uid == 0 || uid == options_.own_uid ||
                     (options_.admin_group && InGroup(peer, *options_.admin_group));
  return core::Account{known.name.value_or(fmt::format("{}", uid)), uid, peer.gid.value_or(uid),
                       admin};
}

Allowed<std::optional<core::Account>> Access::Who(const http::HttpRequest& request) {
  if (request.peer.came_by == http::ListenKind::kUnix) {
    if (!request.peer.uid) return Refused(403, "the kernel does not say who calls");
    return FromKernel(request.peer);
  }
  if (request.authorization.empty()) return std::nullopt;
  constexpr std::string_view kBearer = "Bearer ";
  if (!request.authorization.starts_with(kBearer)) {
    return Refused(401, "give a token: `Authorization: Bearer TOKEN`");
  }
  const auto secret = std::string_view(request.authorization).substr(kBearer.size());
  if (secret.starts_with(SignIns::kSession)) {
    auto signed_in = sign_ins_.Find(secret, std::chrono::steady_clock::now());
    if (signed_in) return signed_in;
    return Refused(401,
                   "this sign-in is over (it was not used for 12 hours, or the server was started "
                   "again); `sharewell dashboard` prints a link that signs you in");
  }
  auto account = tokens_.Find(secret);
  if (!account) {
    return Refused(401, tokens_.problem().empty()
                            ? "this token is not known here, or was revoked; `sharewell token "
                              "create` on the server makes one"
                            : "the server cannot read its tokens; its log says why");
  }
  return account;
}

Allowed<std::optional<core::Account>> Access::Admit(const http::HttpRequest& request) {
  const http::Peer& peer = request.peer;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  // A page on another site whose name was made to point here: its browser sends that name.
  if (peer.came_by == http::ListenKind::kTcp && peer.loopback && !request.host.empty() &&
      !IsLoopbackName(HostOf(request.host))) {
    return Refused(
        421, fmt::format("this is not {}; ask for localhost", core::Quoted(HostOf(request.host))));
  }
  if (!reads && !request.origin.empty()) {
    const auto slashes = request.origin.find("://");
    const bool own = slashes != std::string::npos && !request.host.empty() &&
                     request.origin.substr(slashes + 3) == request.host;
    if (!own) {
      return Refused(403,
                     fmt::format("a page of {} may not do this", core::Quoted(request.origin)));
    }
  }
  auto who = Who(request);
  if (!who || *who) return who;
  if (request.method == "POST" && request.path == kSignInPath) return who;
  if (!reads) {
    return Refused(401,
                   "who are you? Give a token (`Authorization: Bearer TOKEN`; `sharewell token "
                   "create` on the server makes one), or ask through the server's socket");
  }
  if (!peer.loopback && !IsOpen(request.path)) {
    return Refused(401,
                   "from another machine even reading needs a token: `Authorization: Bearer "
                   "TOKEN`");
  }
  return who;
}

Allowed<void> Access::Touch(const std::optional<core::Account>& who, std::uint32_t owner) {
  if (!who) {
    return Refused(
        401,
        "only its owner and admins may do this: give a token, or ask through the server's "
        "socket");
  }
  if (who->admin || who->uid == owner) return {};
  return Refused(
      403,
      fmt::format("it belongs to another user: only its owner and admins may do this; you are {}",
                  core::Quoted(who->name)));
}

Allowed<void> Access::RunAs(const core::Account& who) const {
  if (options_.own_uid == 0 || who.uid == options_.own_uid) return {};
  return Refused(403, fmt::format("this server runs as {} and can run jobs as that user alone; as "
                                  "root it could run yours",
                                  core::Quoted(platform::UserName(options_.own_uid))));
}

bool InGroup(const http::Peer& peer, std::uint32_t group) {
  return peer.gid == group ||
         std::find(peer.groups.begin(), peer.groups.end(), group) != peer.groups.end();
}

core::Result<std::uint32_t> GroupNamed(const std::string& flag, const std::string& name) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number;
  const auto group = platform::GroupNamed(name);
  if (!group) {
    return core::UsageError("{}: there is no group {} on this machine", flag, core::Quoted(name));
  }
  return *group;
}

std::optional<core::Account> AccountNamed(const std::string& name) {
  auto user = platform::UserNamed(name);
  if (!user) return std::nullopt;
  return core::Account{std::move(user->name), user->uid, user->gid, user->uid == 0};
}

}  // namespace sharewell::api
