// What a server says of itself when it begins.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "server/dashboard.h"
#include "server/server_parts.h"

namespace sharewell::server {
namespace {

void GreetFromAddresses(const std::vector<http::ListenAddress>& addresses,
                        const http::HttpServer& http, std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const http::ListenAddress& address = addresses[i];
    http::Endpoint at = address.endpoint;
    at.port = http.Port(i);
    if (address.kind != http::ListenKind::kUnix && at.port == 0) continue;  // told below
    lines.push_back(address.kind == http::ListenKind::kUnix
                        ? "socket for users of this machine: " + address.path
                        : fmt::format("{}://{}/api/v1",
                                      address.kind == http::ListenKind::kTls ? "https" : "http",
                                      at.Text()));
  }
  for (const std::string& missing : http.Missing()) {
    lines.push_back(missing + "; until then it is tried again every few seconds");
  }
}

}  // namespace

std::string DashboardAddress(const ServerOptions& options, const http::HttpServer& http) {
  if (DashboardFiles().empty()) return {};
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    const http::ListenAddress& address = options.addresses[i];
    if (address.kind == http::ListenKind::kUnix) continue;
    http::Endpoint at = address.endpoint;
    at.port = http.Port(i);
    if (at.port == 0) continue;  // another program holds it
    if (address.kind == http::ListenKind::kTcp) return fmt::format("http://{}/", at.Text());
    // A certificate is for a name; "all addresses" is none.
    return fmt::format("https://{}:{}/", options.node, at.port);
  }
  return {};
}

std::string Server::Dashboard() const { return DashboardAddress(parts_->options, *parts_->http); }

std::vector<std::string> Server::Greeting() const {
  const Parts& all = *parts_;
  const BackendFace& face = all.backend->face();
  std::vector<std::string> lines = face.greeting;
  lines.push_back(fmt::format("serving {} with policy {}: {}", all.options.node, all.options.policy,
                              face.serves));
  for (const std::string& remark : face.machine.remarks) lines.push_back(remark);
  for (const std::string& remark : all.settings->remarks()) lines.push_back(remark);
  lines.push_back("jobs are kept in " + store::WithoutPassword(all.options.store));
  GreetFromAddresses(all.options.addresses, *all.http, lines);
  return lines;
}

}  // namespace sharewell::server
