#include "http/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "http/loopback_owner.h"

namespace sharewell::http {
namespace {

std::string WhyNot() { return std::strerror(errno); }

const sockaddr* AsAddress(const void* address) { return static_cast<const sockaddr*>(address); }
sockaddr* AsAddress(void* address) { return static_cast<sockaddr*>(address); }

union TcpAddress {
  sockaddr_in four;
  sockaddr_in6 six;
};

// Whether somebody answers there. A file without a server gives ECONNREFUSED.
bool AnswersAt(const sockaddr_un& at, socklen_t size) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), AsAddress(&at), size) == 0) return true;
  return errno == EAGAIN;  // its queue is full: very much alive
}

}  // namespace

void Fd::Reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Listener::SocketFile::~SocketFile() {
  struct stat now {};
  // Another server may have taken the place meanwhile.
  if (::lstat(path.c_str(), &now) == 0 && now.st_dev == device && now.st_ino == file) {
    ::unlink(path.c_str());
  }
}

Listener::~Listener() = default;

core::Result<Listener> Listener::Open(const ListenAddress& listen_at, bool anywhere) {
  Listener listener;
  listener.kind_ = listen_at.kind;
  if (listen_at.kind == ListenKind::kUnix) {
    RETURN_IF_ERROR(listener.OpenUnix(listen_at.path, listen_at.mode));
    *listener.bound_ = 0;
    return listener;
  }
  listener.endpoint_ = listen_at.endpoint;
  listener.loopback_ = listen_at.endpoint.Loopback();
  if (listen_at.kind == ListenKind::kTls) {
    auto keys = listen_at.pem ? TlsKeys::FromPem(listen_at.certificate, listen_at.key)
                              : TlsKeys::Load(listen_at.certificate, listen_at.key);
    RETURN_IF_ERROR(keys);
    listener.keys_ = std::move(*keys);
  } else if (!listener.loopback_ && !anywhere) {
    return core::UsageError(
        "{} can be reached from other machines, and tokens must not travel in the clear: give a "
        "certificate (--tls-cert, --tls-key), or listen on 127.0.0.1",
        listen_at.endpoint.Text());
  }
  RETURN_IF_ERROR(listener.OpenTcp());
  return listener;
}

std::string Listener::place() const { return endpoint_.Text(); }

core::Error Listener::Held() const {
  return {
      core::ErrorKind::kFailed,
      fmt::format("cannot listen on {}: Address already in use: another program holds that port, "
                  "and clients that connect there speak to it: send it no token; `ss -ltnp` as "
                  "root names it; end it, or give another --listen",
                  place())};
}

bool Listener::TryAgain() {
  // What else is wrong now may be right the next time.
  return listens() || (OpenTcp() && listens());
}

core::Result<void> Listener::OpenTcp() {
  const Endpoint& endpoint = endpoint_;
  TcpAddress at{};
  const bool six = endpoint.address.find(':') != std::string::npos;
  socklen_t size = six ? sizeof at.six : sizeof at.four;
  if (six) {
    at.six.sin6_family = AF_INET6;
    at.six.sin6_port = htons(endpoint.port);
    ::inet_pton(AF_INET6, endpoint.address.c_str(), &at.six.sin6_addr);
  } else {
    at.four.sin_family = AF_INET;
    at.four.sin_port = htons(endpoint.port);
    ::inet_pton(AF_INET, endpoint.address.c_str(), &at.four.sin_addr);
  }
  fd_ = Fd(::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (fd_) ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!fd_ || ::bind(fd_.get(), AsAddress(&at), size) != 0 || ::listen(fd_.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd_.get(), AsAddress(&at), &size) != 0) {
    const int why = errno;
    fd_.Reset();
    if (why == EADDRINUSE) return {};  // listens() says so
    return core::FailedError("cannot listen on {}: {}; give another address or port",
                             endpoint.Text(), std::strerror(why));
  }
  *bound_ = ntohs(six ? at.six.sin6_port : at.four.sin_port);
  return {};
}

core::Result<void> Listener::OpenUnix(const std::string& path, unsigned mode) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof at.sun_path || path.find('\0') != std::string::npos) {
    return core::UsageError("--socket: {} is no path for a socket; give one of 1 to {} characters",
                            core::Quoted(path), sizeof at.sun_path - 1);
  }
  std::memcpy(at.sun_path, path.data(), path.size());
  const auto wrong = [&](const std::string& why) {
    return core::FailedError("cannot listen on {}: {}", core::Quoted(path), why);
  };
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      return wrong("there is something else at this path; remove it, or give another --socket");
    }
    if (AnswersAt(at, sizeof at)) {
      return wrong("a server listens there already; stop it, or give another --socket");
    }
    if (errno == EACCES) return wrong("another user's socket is there; give another --socket");
    ::unlink(path.c_str());
  }
  fd_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Nobody can connect before listen(), so nobody does while the mode is still the umask's.
  if (!fd_ || ::bind(fd_.get(), AsAddress(&at), sizeof at) != 0) return wrong(WhyNot());
  if (::lstat(path.c_str(), &there) == 0) {
    file_.reset(new SocketFile{path, there.st_dev, there.st_ino});
  }
  if (::chmod(path.c_str(), mode) != 0 || ::listen(fd_.get(), SOMAXCONN) != 0) {
    return wrong(WhyNot());
  }
  return {};
}

Fd Listener::Accept(Peer& peer) const {
  TcpAddress from{};
  socklen_t size = sizeof from;
  Fd fd(::accept4(fd_.get(), kind_ == ListenKind::kUnix ? nullptr : AsAddress(&from),
                  kind_ == ListenKind::kUnix ? nullptr : &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return fd;
  peer = {};
  peer.came_by = kind_;
  peer.loopback = loopback_;
  if (kind_ == ListenKind::kUnix) {
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0) {
      peer.uid = credentials.uid;
      peer.gid = credentials.gid;
    }
    static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
    length = 0;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERGROUPS, nullptr, &length);
    peer.groups.resize(length / sizeof(gid_t));
    if (length > 0 &&
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &length) != 0) {
      peer.groups.clear();
    }
    return fd;
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  char text[INET6_ADDRSTRLEN] = "";
  const bool six = from.four.sin_family == AF_INET6;
  ::inet_ntop(from.four.sin_family,
              six ? static_cast<const void*>(&from.six.sin6_addr)
                  : static_cast<const void*>(&from.four.sin_addr),
              text, sizeof text);
  peer.address = text;
  if (IsLoopbackAddress(peer.address)) peer.counted_uid = LoopbackOwner(fd.get());
  return fd;
}

}  // namespace sharewell::http
