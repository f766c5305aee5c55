// For tests: an HTTP client of few words, over TCP or a Unix socket.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sharewell::http {

class TestClient {
 public:
  explicit TestClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Connect(&at, sizeof at);
  }
  explicit TestClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.data(), path.size());
    Connect(&at, sizeof at);
  }
  ~TestClient() { ::close(socket_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  int fd() const { return socket_; }
  bool connected() const { return connected_; }
  bool Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void Half() const { ::shutdown(socket_, SHUT_WR); }
  // Until the other side closes.
  std::string All() const {
    std::string text;
    char room[65536];
    for (ssize_t n = 0; (n = ::recv(socket_, room, sizeof room, 0)) > 0;) {
      text.append(room, static_cast<std::size_t>(n));
    }
    return text;
  }
  // Until `end` has come.
  std::string Until(std::string_view end) const {
    std::string text;
    char c = 0;
    while (!text.ends_with(end) && ::recv(socket_, &c, 1, 0) == 1) text += c;
    return text;
  }

 private:
  void Connect(const void* at, socklen_t size) {
    const timeval patience{30, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(socket_, static_cast<const sockaddr*>(at), size) == 0;
  }

  int socket_;
  bool connected_ = false;
};

}  // namespace sharewell::http
