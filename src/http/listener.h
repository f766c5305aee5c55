// Listening sockets, and who is at the other end of what they accept.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/result.h"
#include "http/http_message.h"
#include "http/http_server.h"
#include "http/tls.h"

namespace sharewell::http {

// A file descriptor of one's own.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { Reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Reset();

 private:
  int fd_;
};

class Listener {
 public:
  // `anywhere`: plain TCP need not be on loopback. A TCP address that another program holds is no
  // error: the listener does not listen then, and can try again.
  static core::Result<Listener> Open(const ListenAddress& listen_at, bool anywhere);
  ~Listener();  // the file of a Unix socket goes with it
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;

  bool listens() const { return *bound_ >= 0; }  // any thread
  bool TryAgain();                               // whether it listens now
  core::Error Held() const;                      // why it does not, and what to do; any thread
  std::string place() const;                     // "127.0.0.1:10401"; any thread
  int fd() const { return fd_.get(); }
  std::uint16_t port() const {  // any thread; 0: it has none, or does not listen
    return static_cast<std::uint16_t>(std::max(bound_->load(), 0));
  }
  const TlsKeys* keys() const { return keys_.get(); }
  // The next that waits. Not an fd: errno says why (EAGAIN: none).
  Fd Accept(Peer& peer) const;

 private:
  Listener() = default;
  core::Result<void> OpenTcp();
  core::Result<void> OpenUnix(const std::string& path, unsigned mode);

  Fd fd_;
  Endpoint endpoint_;  // TCP
  ListenKind kind_ = ListenKind::kTcp;
  bool loopback_ = true;
  // The port, 0 for a Unix socket; below 0: it does not listen. Apart, so that a listener can move.
  std::unique_ptr<std::atomic<int>> bound_ = std::make_unique<std::atomic<int>>(-1);
  std::unique_ptr<TlsKeys> keys_;
  struct SocketFile {
    std::string path;
    dev_t device = 0;
    ino_t file = 0;
    ~SocketFile();
  };
  std::unique_ptr<SocketFile> file_;
};

}  // namespace sharewell::http
