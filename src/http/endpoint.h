// Where a server listens: an address of this machine and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::http {

struct Endpoint {
  std::string address = "127.0.0.1";  // a number, never a name
  std::uint16_t port = 0;

  // "127.0.0.1:10400", "[::1]:10400".
  std::string Text() const;
  bool Loopback() const;  // this machine alone can reach it

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "10400", "127.0.0.1:10400", "localhost:10400", "[::]:10400". A port alone means loopback; all
// addresses are only listened on when they are written out (0.0.0.0). `flag` stands in messages.
core::Result<Endpoint> ParseEndpoint(std::string_view flag, std::string_view text);

}  // namespace sharewell::http
