// Connection: one client of a server. Reads requests, has them answered one at a time, sends what
// is to be sent as the client takes it. For HttpServer alone; the server's thread alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/http_message.h"
#include "http/http_reader.h"
#include "http/http_server.h"
#include "http/listener.h"
#include "http/places.h"
#include "http/tls.h"
#include "http/wire.h"

namespace sharewell::http::wire {

using Time = std::chrono::steady_clock::time_point;

// The server, as a connection sees it.
class House {
 public:
  virtual ~House() = default;
  virtual const HttpOptions& options() const = 0;
  // The head is there: how long its body may be, or a refusal. The connection may be counted to
  // another user from then on.
  virtual std::optional<HttpResponse> Admit(Connection& connection, HttpRequest& head,
                                            std::size_t& most_body) = 0;
  virtual void Handle(HttpRequest request, const std::shared_ptr<Answerer>& answerer) = 0;
  virtual HttpResponse Refuse(int status, const std::string& words) const = 0;
  // Absent: it may, and is counted.
  virtual std::optional<HttpResponse> MayStream(Connection& connection) = 0;
  // So many bytes more of this user's under way.
  virtual std::optional<HttpResponse> MayHold(const Share& share, std::size_t bytes) = 0;
  virtual void Touch(const std::shared_ptr<Connection>& connection) = 0;  // Step it soon
  virtual void Count(int status) = 0;
  virtual const std::shared_ptr<Mailbox>& Box() const = 0;  // for answers that come later
};

// The bytes of an answer's head; without a length it is a stream's.
std::string HeadText(const HttpResponse& response, std::optional<std::size_t> length, bool last);

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Fd fd, Peer peer, std::unique_ptr<TlsSession> tls, House& house, Share& share);

  // Something can be read, written or done. False: it is over, let it go.
  bool Step();
  void Respond(std::uint64_t request, HttpResponse response);
  void Drop(std::uint64_t request);  // nobody will answer it
  void Open(std::uint64_t request, const HttpResponse& head, std::shared_ptr<Stream> stream);
  // Should it leave before its answer: it closes the connection, or its side of it.
  void WhenGone(std::uint64_t request, std::function<void()> gone);
  void Send(const std::shared_ptr<const std::string>& bytes);  // on its stream
  void EndStream();
  void Leave();  // gives back its share; tells the stream, if there is one, that the client is gone

  int fd() const { return fd_.get(); }
  std::uint32_t Wants() const;  // EPOLLIN, EPOLLOUT, EPOLLRDHUP
  bool Late(Time now) const { return deadline_ && now > *deadline_; }
  bool streams() const { return stream_ != nullptr; }
  ListenKind came_by() const { return peer_.came_by; }
  Share& share() const { return *share_; }
  void BelongTo(Share& share);  // REQUIRES: a head was just read
  // Whatever it asks is answered so, once, within a moment.
  void TurnAway(HttpResponse refusal);
  bool turned_away() const { return turned_away_; }
  // It is the client's turn: to send, to read on, to go. Since when nothing has moved.
  bool WaitsForClient() const { return state_ != State::kAnswering && state_ != State::kStreaming; }
  Time active() const { return active_; }
  // Nothing is read until then: the user has used up what there is of CPU time.
  void Rest(Time until) { rests_until_ = until; }
  bool WakeIfRested(Time now);

  std::uint32_t watched = 0;  // what epoll was told
  bool readable = false;      // what epoll has told
  bool touched = false;       // it is on the list of those to step

 private:
  enum class State : std::uint8_t { kReading, kAnswering, kSending, kStreaming, kLingering };

  bool Receive();
  void Advance();  // with the bytes that are there
  void OnHead();
  void Queue(std::string bytes);
  bool Flush();
  bool SendSome();
  void Sent(std::size_t bytes);
  bool Drained() const { return out_.empty() && (!tls_ || tls_->outgoing().empty()); }
  void Hold(std::size_t bytes);
  void Moved(std::size_t bytes);  // of a head, a body or an answer
  void Expire();

  Fd fd_;
  Peer peer_;
  std::unique_ptr<TlsSession> tls_;
  House& house_;
  Share* share_;
  RequestReader reader_;
  State state_ = State::kReading;
  std::uint64_t request_ = 0;
  bool head_only_ = false, last_ = false, read_closed_ = false;
  bool hungry_ = true;  // no request can be made of the bytes that are there
  bool in_body_ = false;
  bool turned_away_ = false;
  std::optional<HttpResponse> refusal_;  // of one that was turned away
  std::deque<std::shared_ptr<const std::string>> out_;
  std::size_t out_sent_ = 0;      // of out_.front()
  std::size_t held_ = 0;          // counted in share_->bytes
  std::size_t since_expire_ = 0;  // bytes of a body or an answer since its deadline was moved
  Time active_;                   // when bytes last came or went
  std::optional<Time> deadline_, head_deadline_, rests_until_;
  std::shared_ptr<Stream> stream_;
  std::function<void()> gone_;  // of the request that waits for its answer
};

}  // namespace sharewell::http::wire
