// HttpServer: HTTP/1.1 on one thread, at several listening addresses: TCP, TCP with TLS, Unix
// sockets.
//
// Handlers run on that thread, one at a time, and should take milliseconds; what takes longer is
// answered later, from any thread. A client may send so much and take so long, there may be so many
// of them, and so many of one; beyond that they are cut off, and the others notice nothing. Users
// are answered in turn, however many requests one of them sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/job/limits.h"
#include "core/result.h"
#include "core/units.h"
#include "http/endpoint.h"
#include "http/http_message.h"

namespace sharewell::http {

struct HttpOptions {
  // Of the Unix sockets together, and as many of the network.
  std::size_t most_connections = 256;  // that are no streams
  std::size_t most_streams = 1024;
  std::size_t most_header_bytes = 8192;
  std::size_t most_body_bytes = 65536;  // where a route does not say otherwise
  // Of long requests and answers of all users that are under way. (Short ones: by connections.)
  std::size_t most_bytes = std::size_t{512} << 20;
  std::size_t most_stream_bytes = std::size_t{1} << 20;  // that wait for one slow reader
  core::Seconds timeout{30};  // to send a piece of a body, to take one of an answer, to stay idle
  core::Seconds head_timeout{5};  // without a byte of a head that has begun; twice that in all
  core::Seconds gives_way{0.5};   // one so long idle makes room for another of the same user
  core::Seconds listen_again{3};  // how often an address is tried that another program holds
  // What one user may take: of connections, streams, memory and CPU time. Absent uid: somebody who
  // is not known. Empty: the defaults.
  std::function<core::Limits(std::optional<std::uint32_t> uid)> limits = {};
  // Which user a uid counts for; empty: itself. The server's thread.
  std::function<std::uint32_t(std::uint32_t uid)> counts_for = {};
  // Who finds a place at the socket when it is full for others, beside root and the server's user.
  std::function<bool(const Peer&)> admin = {};
  // What goes wrong and comes right again while it runs; the server's thread.
  std::function<void(const std::string&)> log = {};
  // The answers that the server gives of itself (404, 413 ...); absent: plain text.
  std::function<HttpResponse(int status, const std::string& words)> refusal = {};
};

// Where clients come in.
struct ListenAddress {
  ListenKind kind = ListenKind::kTcp;
  Endpoint endpoint = {};                  // kTcp, kTls; plain TCP on loopback alone
  std::string path = {};                   // kUnix; what a dead server left there is replaced
  unsigned mode = 0600;                    // kUnix: of the socket
  std::string certificate = {}, key = {};  // kTls: PEM files
  bool pem = false;                        // kTls: they are no files, but the PEM texts themselves
};

class Meter;

namespace wire {
struct Stream;
struct Answerer;
}  // namespace wire

// An answer that stays open. Copies are the same stream; any thread.
class StreamWriter {
 public:
  explicit StreamWriter(std::shared_ptr<wire::Stream> stream);
  // Never waits. False: it is closed. A reader that lets more wait than most_stream_bytes is cut
  // off.
  bool Write(std::shared_ptr<const std::string> bytes) const;
  void Close() const;

 private:
  std::shared_ptr<wire::Stream> stream_;  // shared with the connection, which may go first
};

// Answers one request, once; later answers are dropped. When the last copy goes unanswered, the
// client is told 500. Any thread; may outlive the server.
class Responder {
 public:
  explicit Responder(std::shared_ptr<wire::Answerer> answerer);
  void Answer(HttpResponse response) const;
  // Of whoever asks: what it costs to answer them is charged there.
  const std::shared_ptr<Meter>& meter() const;
  // `gone` is called on the server's thread, once, should the client leave before the answer: it
  // closes the connection or its side of it. Not when the server stops.
  void WhenGone(std::function<void()> gone) const;
  // The head now, the rest through the writer. Both are called on the server's thread: `drained`
  // when nothing waits any more, `gone` once, when the client has left or was cut off.
  StreamWriter Stream(HttpResponse head, std::function<void()> gone,
                      std::function<void()> drained = {}) const;

 private:
  std::shared_ptr<wire::Answerer> answerer_;
};

struct HttpFigures {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // answered 4xx
  std::uint64_t failed = 0;   // 5xx
  std::size_t connections = 0, streams = 0;
};

// What one user has under way; a limit of `core::Limits` bounds each.
struct HttpUse {
  std::size_t connections = 0, streams = 0;
  std::size_t bytes = 0;    // of requests and answers
  core::Seconds server{0};  // CPU time of the last minute
};

class HttpServer {
 public:
  using Page = std::function<HttpResponse(const HttpRequest&)>;
  using Handler = std::function<void(HttpRequest, const Responder&)>;
  struct Admission {
    std::optional<HttpResponse> refusal;
    std::optional<std::uint32_t> uid;  // whose request it is; absent: whoever connected
    bool admin = false;                // no limit on CPU time
  };
  // Asked when the head is there and before the body is read.
  using Gate = std::function<Admission(const HttpRequest&)>;

  // Binds; nothing is served before Start. Port 0: one that is free. Beside a Unix socket, a port
  // that another program holds is no error: it is tried again until it is to be had.
  static core::Result<std::unique_ptr<HttpServer>> Listen(
      const std::vector<ListenAddress>& listen_addresses, const HttpOptions& options = {});
  // One plain listening address, wherever it is: whoever reaches it may read.
  static core::Result<std::unique_ptr<HttpServer>> Listen(const Endpoint& endpoint,
                                                          const HttpOptions& options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // REQUIRES: not started. A route for GET answers HEAD too. `path` may have {parts}.
  void Route(const std::string& method, const std::string& path, Page page);
  void Route(const std::string& method, const std::string& path, Handler handler,
             std::size_t most_body_bytes);
  void SetGate(Gate gate);
  void Every(core::Seconds interval, std::function<void()> work);  // on the server's thread
  void Start();
  void Stop();  // ends all connections and the thread; later calls do nothing

  std::uint16_t Port(std::size_t listen_at = 0) const;  // 0: it has none, or does not listen yet
  // Addresses that another program holds, one sentence each. Any thread.
  std::vector<std::string> Missing() const;
  // Any thread; `work` runs on the server's. After Stop it is dropped.
  void Post(std::function<void()> work);
  HttpFigures Figures() const;                                      // any thread
  HttpUse UseOf(std::uint32_t uid) const;                           // the server's thread
  std::vector<std::pair<std::string, std::string>> Routes() const;  // method, path

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> inside);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::http
