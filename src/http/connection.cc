#include "http/connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/version.h"

namespace sharewell::http::wire {
namespace {

constexpr std::size_t kReadAtOnce = 65536;
constexpr std::size_t kProgress = 65536;  // so much of a body or an answer moves its deadline
constexpr std::size_t kTlsPiece = 65536;  // so much is encrypted ahead
constexpr std::size_t kSendParts = 16;
constexpr auto kLinger = std::chrono::seconds(2);
constexpr auto kTurnedAway = std::chrono::seconds(1);  // for a request that is refused anyway

bool WouldWait(int error) { return error == EAGAIN || error == EINTR; }

Time After(core::Seconds time) {
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(static_cast<std::int64_t>(time.value * 1e3));
}

}  // namespace

Connection::Connection(Fd fd, Peer peer, std::unique_ptr<TlsSession> tls, House& house,
                       Share& share)
    : fd_(std::move(fd)),
      peer_(std::move(peer)),
      tls_(std::move(tls)),
      house_(house),
      share_(&share),
      reader_(house.options().most_header_bytes),
      active_(std::chrono::steady_clock::now()),
      deadline_(After(house.options().head_timeout)),
      head_deadline_(After(house.options().head_timeout * 2)) {}

void Connection::BelongTo(Share& share) {
  Hold(0);
  share_ = &share;
}

void Connection::TurnAway(HttpResponse refusal) {
  turned_away_ = true;
  refusal_ = std::move(refusal);
  deadline_ = head_deadline_ = std::chrono::steady_clock::now() + kTurnedAway;
}

void Connection::Hold(std::size_t bytes) {
  share_->bytes += bytes - held_;  // unsigned: goes down as well
  held_ = bytes;
}

void Connection::Expire() {
  since_expire_ = 0;
  deadline_ = After(house_.options().timeout);
}

// A head has to come quickly, and its bytes do not buy it more than twice the time. Bodies and
// answers may be long, and have to move.
void Connection::Moved(std::size_t bytes) {
  active_ = std::chrono::steady_clock::now();
  if (state_ == State::kReading && !in_body_) {
    if (!head_deadline_) head_deadline_ = After(house_.options().head_timeout * 2);
    deadline_ = std::min(After(house_.options().head_timeout), *head_deadline_);
    return;
  }
  since_expire_ += bytes;
  if (since_expire_ > kProgress) Expire();
}

std::uint32_t Connection::Wants() const {
  const bool reads = !read_closed_ && ((state_ == State::kReading && hungry_ && !rests_until_) ||
                                       state_ == State::kStreaming || state_ == State::kLingering);
  return (reads ? EPOLLIN : 0U) | (Drained() ? 0U : EPOLLOUT) | (gone_ ? EPOLLRDHUP : 0U);
}

bool Connection::Step() {
  const bool reads = (Wants() & EPOLLIN) != 0;
  if (std::exchange(readable, false) && reads && !Receive()) return false;
  if (state_ == State::kReading && !rests_until_) Advance();
  if (!Flush()) return false;
  if (state_ == State::kSending && Drained()) {
    Hold(0);
    if (last_ || read_closed_) {
      if (tls_) {
        tls_->Close();
        if (!Flush()) return false;
      }
      // What the client still sends would make the kernel throw our answer away: it is let through
      // for a moment.
      ::shutdown(fd_.get(), SHUT_WR);
      if (read_closed_) return false;
      state_ = State::kLingering;
      deadline_ = std::chrono::steady_clock::now() + kLinger;
    } else {
      state_ = State::kReading;
      Expire();
      head_deadline_.reset();
      hungry_ = !reader_.begun();
      if (!hungry_) Moved(0);
      if (!hungry_) house_.Touch(shared_from_this());
    }
  }
  if (state_ == State::kStreaming && Drained()) {
    if (stream_ == nullptr || stream_->closed) return false;
    deadline_.reset();
    if (stream_->drained) stream_->drained();
  }
  return !(state_ == State::kReading && read_closed_);
}

bool Connection::Receive() {
  static thread_local std::array<char, kReadAtOnce> room;
  const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), 0);
  if (got < 0) return WouldWait(errno);
  if (got == 0) {
    read_closed_ = true;
    // Whoever listens to a stream and closes its end has gone.
    return state_ == State::kReading && reader_.begun();
  }
  if (state_ == State::kReading) Moved(static_cast<std::size_t>(got));
  std::string_view bytes(room.data(), static_cast<std::size_t>(got));
  std::string plain;
  if (tls_) {
    if (!tls_->Take(bytes, plain)) read_closed_ = true;
    bytes = plain;
  }
  if (state_ != State::kReading) return !read_closed_;  // nothing is expected: let through
  reader_.Add(bytes);
  return !read_closed_ || !bytes.empty();
}

void Connection::Advance() {
  switch (reader_.Step()) {
    case RequestReader::State::kMore:
      hungry_ = true;
      return;
    case RequestReader::State::kBroken:
      last_ = true;
      state_ = State::kAnswering;
      return Respond(request_, house_.Refuse(reader_.status(), reader_.words()));
    case RequestReader::State::kHead:
      OnHead();
      return;
    case RequestReader::State::kWhole:
      break;
  }
  last_ = !reader_.keep_alive();
  head_only_ = reader_.head().method == "HEAD";
  HttpRequest request = reader_.Take();
  request.peer = peer_;
  state_ = State::kAnswering;
  in_body_ = false;
  deadline_.reset();
  auto answerer = std::make_shared<Answerer>();
  answerer->mailbox = house_.Box();
  answerer->connection = weak_from_this();
  answerer->request = request_;
  answerer->most_stream_bytes = house_.options().most_stream_bytes;
  answerer->meter = share_->meter;
  house_.Handle(std::move(request), answerer);
}

void Connection::OnHead() {
  HttpRequest head = reader_.head();
  head.peer = peer_;
  std::size_t most_body = 0;
  auto refused = turned_away_ ? std::exchange(refusal_, {}) : house_.Admit(*this, head, most_body);
  const std::uint64_t length = reader_.length().value_or(reader_.has_body() ? most_body : 0);
  if (!refused && length > most_body) {
    refused = house_.Refuse(
        413, fmt::format("the body is longer than the {} bytes that are taken here", most_body));
  }
  if (!refused) refused = house_.MayHold(*share_, length);
  if (refused) {
    head_only_ = reader_.head().method == "HEAD";
    last_ = !reader_.keep_alive() || reader_.has_body() || turned_away_;
    if (!last_) {
      reader_.TakeBody(0);
      reader_.Step();
      reader_.Take();
    }
    state_ = State::kAnswering;
    return Respond(request_, std::move(*refused));
  }
  Hold(length);
  in_body_ = true;
  Expire();
  if (reader_.expects_continue()) Queue("HTTP/1.1 100 Continue\r\n\r\n");
  reader_.TakeBody(most_body);
  Advance();
}

void Connection::Respond(std::uint64_t request, HttpResponse response) {
  if (state_ != State::kAnswering || request != request_) return;
  ++request_;
  gone_ = nullptr;
  Hold(0);
  if (auto refused = house_.MayHold(*share_, response.body.size())) response = std::move(*refused);
  Hold(response.body.size());
  house_.Count(response.status);
  Queue(HeadText(response, response.body.size(), last_));
  if (!head_only_) Queue(std::move(response.body));
  state_ = State::kSending;
  Expire();
  house_.Touch(shared_from_this());
}

void Connection::Drop(std::uint64_t request) {
  Respond(request, house_.Refuse(500, "this could not be answered; the server's log may say why"));
}

void Connection::Open(std::uint64_t request, const HttpResponse& head,
                      std::shared_ptr<Stream> stream) {
  if (state_ != State::kAnswering || request != request_) return;
  if (auto refused = house_.MayStream(*this)) {
    stream->closed = true;
    if (stream->gone) stream->gone();
    return Respond(request, std::move(*refused));
  }
  ++request_;
  gone_ = nullptr;
  last_ = true;
  Hold(0);
  house_.Count(head.status);
  Queue(HeadText(head, std::nullopt, last_));
  stream_ = std::move(stream);
  for (const auto& bytes : out_) stream_->waiting += bytes->size();
  if (head_only_) stream_->closed = true;
  state_ = State::kStreaming;
  Expire();
  house_.Touch(shared_from_this());
}

void Connection::Send(const std::shared_ptr<const std::string>& bytes) {
  if (stream_ == nullptr || stream_->closed) return;
  if (Drained()) Expire();
  out_.push_back(bytes);
  house_.Touch(shared_from_this());
}

void Connection::EndStream() {
  if (stream_ == nullptr) return;
  // What waits is let go as well when the reader was too slow to take it.
  if (stream_->waiting > stream_->most_waiting) {
    out_.clear();
    out_sent_ = 0;
  }
  stream_->closed = true;
  house_.Touch(shared_from_this());
}

void Connection::WhenGone(std::uint64_t request, std::function<void()> gone) {
  if (state_ != State::kAnswering || request != request_) return;  // it was answered
  gone_ = std::move(gone);
  house_.Touch(shared_from_this());
}

bool Connection::WakeIfRested(Time now) {
  if (!rests_until_ || now < *rests_until_) return false;
  rests_until_.reset();
  return true;
}

void Connection::Leave() {
  Hold(0);
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
  if (stream_ == nullptr) return;
  stream_->closed = true;
  stream_->drained = nullptr;
  if (auto gone = std::exchange(stream_->gone, nullptr)) gone();
}

std::string HeadText(const HttpResponse& response, std::optional<std::size_t> length, bool last) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nServer: sharewell/{}\r\nContent-Type: {}\r\n"
      "X-Content-Type-Options: nosniff\r\n",
      response.status, ReasonOf(response.status), core::kVersion, response.type);
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
  }
  if (length) head += fmt::format("Content-Length: {}\r\n", *length);
  head += last ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n";
  return head;
}

void Connection::Queue(std::string bytes) {
  if (bytes.empty()) return;
  out_.push_back(std::make_shared<const std::string>(std::move(bytes)));
}

bool Connection::Flush() {
  while (!Drained()) {
    if (tls_ && tls_->outgoing().empty()) {
      const auto piece = std::string_view(*out_.front()).substr(out_sent_, kTlsPiece);
      tls_->Put(piece);
      Sent(piece.size());
      continue;
    }
    if (!SendSome()) return WouldWait(errno);
  }
  return true;
}

bool Connection::SendSome() {
  if (tls_) {
    std::string& bytes = tls_->outgoing();
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.erase(0, static_cast<std::size_t>(sent));
    Moved(static_cast<std::size_t>(sent));
    return true;
  }
  std::array<iovec, kSendParts> parts;
  const std::size_t count = std::min(out_.size(), parts.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t skip = i == 0 ? out_sent_ : 0;
    parts[i].iov_base = const_cast<char*>(out_[i]->data() + skip);
    parts[i].iov_len = out_[i]->size() - skip;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  if (sent < 0) return false;
  Moved(static_cast<std::size_t>(sent));
  Sent(static_cast<std::size_t>(sent));
  return true;
}

void Connection::Sent(std::size_t bytes) {
  bytes += out_sent_;
  out_sent_ = 0;
  while (!out_.empty() && bytes >= out_.front()->size()) {
    bytes -= out_.front()->size();
    if (stream_ != nullptr) stream_->waiting -= out_.front()->size();
    out_.pop_front();
  }
  out_sent_ = out_.empty() ? 0 : bytes;
}

}  // namespace sharewell::http::wire
