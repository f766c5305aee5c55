#include "http/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "core/text/quoted.h"

namespace sharewell::http {
namespace {

bool IsAddress(int family, const std::string& text) {
  in6_addr room{};
  return ::inet_pton(family, text.c_str(), &room) == 1;
}

}  // namespace

std::string Endpoint::Text() const {
  const bool six = address.find(':') != std::string::npos;
  return six ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

bool Endpoint::Loopback() const { return address == "::1" || address.starts_with("127."); }

core::Result<Endpoint> ParseEndpoint(std::string_view flag, std::string_view text) {
  const auto wrong = [&] {
    return core::UsageError(
        "{}: {} is not allowed; give ADDRESS:PORT (127.0.0.1:10400, [::1]:10400, or 0.0.0.0:10400 "
        "for everyone who can reach this machine)",
        flag, core::Quoted(text));
  };
  Endpoint endpoint;
  const auto colon = text.rfind(':');
  std::string_view port = text;
  if (colon != std::string_view::npos) {
    port = text.substr(colon + 1);
    std::string_view address = text.substr(0, colon);
    const bool brackets = address.size() > 2 && address.front() == '[' && address.back() == ']';
    if (brackets) address = address.substr(1, address.size() - 2);
    endpoint.address = address == "localhost" ? "127.0.0.1" : std::string(address);
    if (!IsAddress(brackets ? AF_INET6 : AF_INET, endpoint.address)) return wrong();
  }
  const char* end = port.data() + port.size();
  const auto [rest, error] = std::from_chars(port.data(), end, endpoint.port);
  if (error != std::errc() || rest != end) return wrong();
  return endpoint;
}

}  // namespace sharewell::http
