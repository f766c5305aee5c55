// Listening sockets, and who is at the other end of what they accept.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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
  // `anywhere`: plain TCP need not be on loopback.
  static core::Result<Listener> Open(const ListenAddress& listen_at, bool anywhere);
  ~Listener();  // the file of a Unix socket goes with it
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;

  int fd() const { return fd_.get(); }
  std::uint16_t port() const { return port_; }
  const TlsKeys* keys() const { return keys_.get(); }
  // The next that waits. Not an fd: errno says why (EAGAIN: none).
  Fd Accept(Peer& peer) const;

 private:
  Listener() = default;
  core::Result<void> OpenTcp(const Endpoint& endpoint);
  core::Result<void> OpenUnix(const std::string& path, unsigned mode);

  Fd fd_;
  ListenKind kind_ = ListenKind::kTcp;
  bool loopback_ = true;
  std::uint16_t port_ = 0;
  std::unique_ptr<TlsKeys> keys_;
  struct SocketFile {
    std::string path;
    dev_t device = 0;
    ino_t file = 0;
    ~SocketFile();
  };
  std::unique_ptr<SocketFile> file_;
};

// How connections from this end are counted: by user, or by address.
std::string PeerName(const Peer& peer);

}  // namespace sharewell::http
