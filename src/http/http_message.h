// What a server is asked and what it answers. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::http {

enum class ListenKind : std::uint8_t { kTcp, kTls, kUnix };

// Who is at the other end, as the kernel tells it.
struct Peer {
  ListenKind came_by = ListenKind::kTcp;
  bool loopback = true;  // the listening address can be reached from this machine alone
  std::string address;   // kTcp, kTls
  // kTcp, kTls from this machine: who opened the other end. Connections are counted by it; what
  // somebody may do, a token says.
  std::optional<std::uint32_t> counted_uid;
  // kUnix, as they were when it connected:
  std::optional<std::uint32_t> uid, gid;
  std::vector<std::uint32_t> groups;  // all it is in

  friend bool operator==(const Peer&, const Peer&) = default;
};

// Of this machine itself, as text: 127.0.0.0/8, ::1.
bool IsLoopbackAddress(std::string_view address);

struct HttpRequest {
  std::string method, path, query, body;
  Peer peer = {};
  std::vector<std::string> parameters = {};  // what stands for {...} in the route's path
  // Headers that matter; empty: not given.
  std::string host = {}, origin = {}, authorization = {}, last_event_id = {};
  std::string if_none_match = {}, accept_encoding = {}, accept = {};
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// "Not Found".
std::string_view ReasonOf(int status);

}  // namespace sharewell::http
