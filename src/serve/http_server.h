// HttpServer: plain HTTP/1.1 on one thread, for pages that are made in memory.
//
// Handlers run on that thread, one at a time, and should take milliseconds. A client may send so
// much and take so long, and there may be so many of them; beyond that they are cut off, and the
// others notice nothing. No TLS, no passwords: it listens on loopback unless it is told otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/result.h"
#include "core/units.h"
#include "serve/endpoint.h"

namespace sharewell::serve {

struct HttpRequest {
  std::string method, path, query, body;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpOptions {
  std::size_t most_connections = 64;
  std::size_t most_header_bytes = 8192;
  std::size_t most_body_bytes = 65536;
  core::Seconds timeout{30};  // to send a request, to take an answer, to stay idle
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Binds; nothing is served before Start. Port 0: one that is free.
  static core::Result<std::unique_ptr<HttpServer>> Listen(const Endpoint& endpoint,
                                                          const HttpOptions& options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // REQUIRES: not started. A route for GET answers HEAD too.
  void Route(const std::string& method, const std::string& path, Handler handler);
  void Start();
  void Stop();  // ends all connections and the thread; later calls do nothing
  std::uint16_t Port() const;

 private:
  struct Inside;
  explicit HttpServer(std::unique_ptr<Inside> inside);

  std::unique_ptr<Inside> inside_;
};

}  // namespace sharewell::serve
