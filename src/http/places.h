// Places: who has how many of a server's connections and streams, who is told that there are no
// more, and who has to leave for whom. For HttpServer alone; the server's thread alone, except for
// the counts.
//
// The Unix socket and the network have a pool each, so that nobody on the network keeps users of
// this machine out. In a pool that is full whoever has the most gives way to whoever has fewer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/job/limits.h"
#include "http/http_message.h"
#include "http/http_server.h"
#include "http/meter.h"

namespace sharewell::http::wire {

class Connection;
using Connections = std::unordered_map<int, std::shared_ptr<Connection>>;  // by fd

// What one user, or one address, has under way.
struct Share {
  std::string name;                  // for messages: "uid 1000"
  std::optional<std::uint32_t> uid;  // absent: nobody knows whose it is
  bool kept = true;                  // it is not forgotten when nothing is open
  std::size_t connections = 0, streams = 0, bytes = 0;
  std::size_t turned_away = 0;                               // connections that wait to be told so
  std::shared_ptr<Meter> meter = std::make_shared<Meter>();  // shared with those who answer later
  std::deque<std::shared_ptr<Connection>> ready;             // to be stepped, in turn with others'
  bool in_turn = false;
};

// Whether there is a place. Neither: there is.
struct Place {
  std::shared_ptr<Connection> leaves;   // there is one when this connection has gone
  std::optional<HttpResponse> refusal;  // there is none
};

class Places {
 public:
  using Refuse = HttpResponse (*)(const HttpOptions&, int status, const std::string& words);

  Places(const HttpOptions& options, Refuse refuse) : options_(options), refuse_(refuse) {}
  // Half of the file descriptors are for everything else that this process does.
  void KeepFilesFree();

  Share& Of(const Peer& peer);  // loopback is one, wherever in 127.0.0.0/8 it comes from
  Share& Of(std::uint32_t uid);
  core::Limits LimitsOf(const Share& share) const;
  HttpUse UseOf(std::uint32_t uid) const;
  // Some places of the socket are for these alone.
  bool Privileged(const Peer& peer) const;

  // Of the user's own, and of all.
  Place ForUser(const Share& share, const Connections& all) const;
  Place ForConnection(ListenKind by, const Share& share, bool privileged,
                      const Connections& all) const;
  Place ForStream(const Connection& connection, const Connections& all) const;
  // Of the CPU time that its requests have used; absent: it may go on.
  std::optional<HttpResponse> Tired(const Share& share) const;
  // Of memory for a request or an answer, the user's own and of all; absent: there is room.
  std::optional<HttpResponse> ForBytes(const Share& share, std::size_t bytes) const;

  void Clear();  // lets go of connections that wait for their turn
  // Whether one that finds no place can be kept until its request is there, to be answered then:
  // an answer before that may never be read.
  // The user's longest waiting one of that kind leaves for it.
  bool MayTurnAway(const Share& share) const;
  std::shared_ptr<Connection> TurnedAwayBefore(const Share& share, const Connections& all) const;
  void Enter(const Connection& connection);
  void Leave(const Connection& connection);
  void BecomeStream(const Connection& connection);
  void Move(Connection& connection, Share& to);  // its user has become known

  std::size_t connections() const { return socket_.connections + network_.connections; }
  std::size_t streams() const { return socket_.streams + network_.streams; }

 private:
  struct Pool {
    std::atomic<std::size_t> connections{0}, streams{0};
  };

  Pool& PoolOf(ListenKind by) { return by == ListenKind::kUnix ? socket_ : network_; }
  const Pool& PoolOf(ListenKind by) const { return by == ListenKind::kUnix ? socket_ : network_; }
  HttpResponse OverLimit(int status, const Share& share, const std::string& has,
                         const std::string& limit, const std::string& way) const;

  const HttpOptions& options_;
  Refuse refuse_;
  std::size_t most_connections_ = 0, most_streams_ = 0;  // of one pool
  Pool socket_, network_;
  std::size_t turned_away_ = 0;
  std::map<std::string, Share> shares_;
};

}  // namespace sharewell::http::wire
