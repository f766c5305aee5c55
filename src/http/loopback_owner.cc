#include "http/loopback_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "http/listener.h"

namespace sharewell::http {
namespace {

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 asked;
};

// One end of a connection as the kernel's question has it.
bool PutEnd(const sockaddr_storage& end, __be16& port, __be32 (&address)[4]) {
  if (end.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &end, sizeof four);
    port = four.sin_port;
    address[0] = four.sin_addr.s_addr;
    return true;
  }
  if (end.ss_family != AF_INET6) return false;
  sockaddr_in6 six;
  std::memcpy(&six, &end, sizeof six);
  port = six.sin6_port;
  std::memcpy(address, &six.sin6_addr, sizeof six.sin6_addr);
  return true;
}

}  // namespace

std::optional<std::uint32_t> LoopbackOwner(int accepted) {
  static thread_local const Fd kernel(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  sockaddr_storage here{}, there{};
  socklen_t size = sizeof here, other_size = sizeof there;
  if (!kernel || ::getsockname(accepted, reinterpret_cast<sockaddr*>(&here), &size) != 0 ||
      ::getpeername(accepted, reinterpret_cast<sockaddr*>(&there), &other_size) != 0) {
    return std::nullopt;
  }
  static thread_local std::uint32_t sequence = 0;
  Question question{};
  question.header.nlmsg_seq = ++sequence;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.asked.sdiag_family = static_cast<std::uint8_t>(there.ss_family);
  question.asked.sdiag_protocol = IPPROTO_TCP;
  question.asked.idiag_states = ~0U;
  inet_diag_sockid& id = question.asked.id;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  // Of the socket at the other end, whose own address is our peer's.
  if (!PutEnd(there, id.idiag_sport, id.idiag_src) || !PutEnd(here, id.idiag_dport, id.idiag_dst)) {
    return std::nullopt;
  }
  if (::send(kernel.get(), &question, sizeof question, 0) != sizeof question) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 4096> room;
  const ssize_t got = ::recv(kernel.get(), room.data(), room.size(), 0);  // it is there at once
  nlmsghdr header{};
  inet_diag_msg told{};
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof told))) return std::nullopt;
  std::memcpy(&header, room.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_seq != sequence) return std::nullopt;
  std::memcpy(&told, room.data() + NLMSG_LENGTH(0), sizeof told);
  // One that was closed belongs to nobody any more, and says root.
  if (told.idiag_state != TCP_ESTABLISHED) return std::nullopt;
  return told.idiag_uid;
}

}  // namespace sharewell::http
