#include "http/places.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "http/connection.h"

namespace sharewell::http::wire {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kReserved = 8;  // places at the socket for root and admins
constexpr std::size_t kMostTurnedAway = 128, kMostTurnedAwayOfOne = 16;
constexpr std::size_t kMostPeers = 4096;  // that are remembered without having anything open
constexpr const char* kThisMachine = "this machine";

std::string NameOf(std::uint32_t uid) { return fmt::format("uid {}", uid); }

// An IPv6 host has a whole /64 to call from.
std::string Network(const std::string& address) {
  const bool four = address.find(':') == std::string::npos || address.starts_with("::ffff:");
  if (four) return address;
  std::size_t end = 0;
  for (int part = 0; part < 4 && end != std::string::npos; ++part) {
    end = address.find(':', end + (part == 0 ? 0 : 1));
    if (end != std::string::npos && address.compare(end, 2, "::") == 0) break;
  }
  return address.substr(0, end) + "::/64";
}

HttpResponse Again(HttpResponse refusal, double seconds) {
  refusal.headers.emplace_back("Retry-After",
                               fmt::format("{:.0f}", std::ceil(std::max(seconds, 1.0))));
  return refusal;
}

// Of those that count, the one that has waited longest for its client.
std::shared_ptr<Connection> LongestIdle(const Connections& all, core::Seconds least,
                                        const auto& counts) {
  std::shared_ptr<Connection> found;
  const auto now = steady_clock::now();
  for (const auto& [fd, connection] : all) {
    if (connection->turned_away() || !counts(*connection)) continue;
    if (!connection->WaitsForClient()) continue;
    const double idle = std::chrono::duration<double>(now - connection->active()).count();
    if (idle < least.value) continue;
    if (found == nullptr || connection->active() < found->active()) found = connection;
  }
  return found;
}

// Who has the most of what counts, and how many.
std::pair<const Share*, std::size_t> Greediest(const Connections& all, const auto& counts) {
  std::map<const Share*, std::size_t> have;
  std::pair<const Share*, std::size_t> most{nullptr, 0};
  for (const auto& [fd, connection] : all) {
    if (connection->turned_away() || !counts(*connection)) continue;
    const std::size_t mine = ++have[&connection->share()];
    if (mine > most.second) most = {&connection->share(), mine};
  }
  return most;
}

}  // namespace

void Places::KeepFilesFree() {
  most_connections_ = options_.most_connections;
  most_streams_ = options_.most_streams;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return;
  const std::size_t room = files.rlim_cur / 4;  // of each pool
  most_connections_ = std::min(most_connections_, std::max<std::size_t>(room / 4, 1));
  most_streams_ = std::min(most_streams_, room - room / 4);
}

Share& Places::Of(std::uint32_t uid) {
  const std::string name = NameOf(uid);
  Share& share = shares_[name];
  share.uid = uid;
  share.name = name;
  return share;
}

Share& Places::Of(const Peer& peer) {
  const auto counts_for = [&](std::uint32_t uid) {
    return options_.counts_for ? options_.counts_for(uid) : uid;
  };
  if (peer.uid) return Of(counts_for(*peer.uid));
  if (peer.counted_uid) {
    const std::uint32_t uid = counts_for(*peer.counted_uid);
    const std::string name = fmt::format("uid {} over TCP without a token", uid);
    Share& share = shares_[name];
    share.name = name;
    share.uid = uid;
    return share;
  }
  const bool here = IsLoopbackAddress(peer.address);
  Share& share = shares_[here ? kThisMachine : Network(peer.address)];
  share.name = here ? "all clients of this machine without a token" : Network(peer.address);
  share.kept = here;
  return share;
}

core::Limits Places::LimitsOf(const Share& share) const {
  return options_.limits ? options_.limits(share.uid) : core::Limits{};
}

HttpUse Places::UseOf(std::uint32_t uid) const {
  const auto found = shares_.find(NameOf(uid));
  if (found == shares_.end()) return {};
  const Share& share = found->second;
  const core::Seconds per_minute(LimitsOf(share).server_seconds_per_minute);
  return {share.connections, share.streams, share.bytes,
          share.meter->Used(per_minute, steady_clock::now())};
}

bool Places::Privileged(const Peer& peer) const {
  if (peer.came_by != ListenKind::kUnix || !peer.uid) return false;
  if (*peer.uid == 0 || *peer.uid == ::geteuid()) return true;
  return options_.admin && options_.admin(peer);
}

HttpResponse Places::OverLimit(int status, const Share& share, const std::string& has,
                               const std::string& limit, const std::string& way) const {
  return refuse_(options_, status,
                 fmt::format("{} {} {}, as much as limits.{} allows; {}, or ask an admin to raise "
                             "limits.{} in sharewell.toml",
                             share.name, share.uid ? "has" : "have", has, limit, way, limit));
}

Place Places::ForUser(const Share& share, const Connections& all) const {
  const auto limit = static_cast<std::size_t>(LimitsOf(share).connections);
  if (share.connections < limit) return {};
  auto own = LongestIdle(all, options_.gives_way, [&](const Connection& connection) {
    return &connection.share() == &share && !connection.streams();
  });
  if (own != nullptr) return {own, {}};
  return {nullptr,
          Again(OverLimit(429, share, fmt::format("{} connections open", share.connections),
                          "connections",
                          share.uid ? "close some" : "use the server's socket, or a token"),
                1)};
}

Place Places::ForConnection(ListenKind by, const Share& share, bool privileged,
                            const Connections& all) const {
  if (auto own = ForUser(share, all); own.leaves != nullptr || own.refusal) return own;
  const std::size_t room = most_connections_ + (privileged ? kReserved : 0);
  if (PoolOf(by).connections < room) return {};
  const auto counts = [&](const Connection& connection) {
    return &PoolOf(connection.came_by()) == &PoolOf(by) && !connection.streams();
  };
  const auto [greedy, most] = Greediest(all, counts);
  if (most > share.connections + 1) {
    auto leaves = LongestIdle(all, core::Seconds(0), [&, who = greedy](const Connection& c) {
      return counts(c) && &c.share() == who;
    });
    if (leaves != nullptr) return {leaves, {}};
  }
  return {
      nullptr,
      Again(refuse_(options_, 503,
                    fmt::format("the server is full: all {} connections {} are in "
                                "use; try again in a moment",
                                most_connections_,
                                by == ListenKind::kUnix ? "of its socket" : "from the network")),
            1)};
}

Place Places::ForStream(const Connection& connection, const Connections& all) const {
  const Share& share = connection.share();
  const auto limit = static_cast<std::size_t>(LimitsOf(share).streams);
  if (share.streams >= limit) {
    return {nullptr, OverLimit(429, share, fmt::format("{} streams open", share.streams), "streams",
                               share.uid ? "close some" : "use the server's socket, or a token")};
  }
  const Pool& pool = PoolOf(connection.came_by());
  if (pool.streams < most_streams_) return {};
  const auto counts = [&](const Connection& other) {
    return &PoolOf(other.came_by()) == &pool && other.streams();
  };
  const auto [greedy, most] = Greediest(all, counts);
  for (const auto& [fd, other] : all) {
    // A client that is cut off comes back by the id of its last event.
    if (most > share.streams + 1 && counts(*other) && &other->share() == greedy) return {other, {}};
  }
  return {nullptr, Again(refuse_(options_, 503,
                                 fmt::format("the server is full: all {} event streams are in use; "
                                             "try again later",
                                             most_streams_)),
                         10)};
}

std::optional<HttpResponse> Places::Tired(const Share& share) const {
  const core::Seconds per_minute(LimitsOf(share).server_seconds_per_minute);
  const auto wait = share.meter->Wait(per_minute, steady_clock::now());
  if (!wait) return std::nullopt;
  return Again(OverLimit(429, share,
                         fmt::format("used {:g} s of the server's CPU time within a minute",
                                     per_minute.value),
                         "server_seconds_per_minute",
                         fmt::format("ask again in {:.0f} s", std::ceil(wait->value))),
               wait->value);
}

std::optional<HttpResponse> Places::ForBytes(const Share& share, std::size_t bytes) const {
  const double limit = LimitsOf(share).request_bytes.value;
  if (static_cast<double>(share.bytes) + static_cast<double>(bytes) > limit) {
    return Again(
        OverLimit(429, share,
                  fmt::format("{:.1f} of {:.1f} MiB of requests and answers under way",
                              static_cast<double>(share.bytes) / (1 << 20), limit / (1 << 20)),
                  "request_bytes", "let those end first"),
        1);
  }
  if (bytes <= options_.most_body_bytes) return std::nullopt;
  std::size_t all = bytes;
  for (const auto& [name, other] : shares_) all += other.bytes;
  // Others leave room for root and the server's user.
  const bool privileged = share.uid && (*share.uid == 0 || *share.uid == ::geteuid());
  if (all <= options_.most_bytes * (privileged ? 2 : 1)) return std::nullopt;
  return Again(refuse_(options_, 503,
                       fmt::format("the server is full: requests and answers of all users take "
                                   "{:.0f} of {:.0f} MiB; try again in a moment",
                                   static_cast<double>(all - bytes) / (1 << 20),
                                   static_cast<double>(options_.most_bytes) / (1 << 20))),
               1);
}

void Places::Clear() {
  for (auto& [name, share] : shares_) {
    share.ready.clear();
    share.in_turn = false;
  }
}

bool Places::MayTurnAway(const Share& share) const {
  return turned_away_ < kMostTurnedAway || share.turned_away > 0;
}

std::shared_ptr<Connection> Places::TurnedAwayBefore(const Share& share,
                                                     const Connections& all) const {
  std::shared_ptr<Connection> first;
  const bool room = turned_away_ < kMostTurnedAway && share.turned_away < kMostTurnedAwayOfOne;
  for (const auto& [fd, connection] : all) {
    if (room || !connection->turned_away() || &connection->share() != &share) continue;
    if (first == nullptr || connection->active() < first->active()) first = connection;
  }
  return first;
}

void Places::Enter(const Connection& connection) {
  if (connection.turned_away()) {
    ++connection.share().turned_away, ++turned_away_;
  } else {
    ++connection.share().connections, ++PoolOf(connection.came_by()).connections;
  }
}

void Places::Leave(const Connection& connection) {
  Pool& pool = PoolOf(connection.came_by());
  Share& share = connection.share();
  if (connection.turned_away()) {
    --share.turned_away, --turned_away_;
  } else if (connection.streams()) {
    --share.streams, --pool.streams;
  } else {
    --share.connections, --pool.connections;
  }
  if (shares_.size() <= kMostPeers) return;
  std::erase_if(shares_, [](const auto& entry) {
    const Share& s = entry.second;
    return !s.kept && !s.in_turn && s.connections + s.streams + s.bytes + s.turned_away == 0;
  });
}

void Places::BecomeStream(const Connection& connection) {
  Pool& pool = PoolOf(connection.came_by());
  --connection.share().connections, --pool.connections;
  ++connection.share().streams, ++pool.streams;
}

void Places::Move(Connection& connection, Share& to) {
  --connection.share().connections;
  connection.BelongTo(to);
  ++to.connections;
}

}  // namespace sharewell::http::wire
