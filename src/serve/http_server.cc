// The only source that includes Boost.Beast: it takes half a minute to compile. Boost.Asio 1.74
// needs <utility> before it in C++20 and does not say so; core/result.h brings it.
#include "serve/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "core/version.h"

namespace sharewell::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// How long accepting rests when the machine has no more file descriptors to give.
constexpr auto kAcceptAgain = std::chrono::milliseconds(100);

struct Routes {
  HttpOptions options;
  std::map<std::string, std::map<std::string, HttpServer::Handler>> by_path;
  std::size_t connections = 0;

  HttpResponse Answer(const HttpRequest& request) const {
    const auto path = by_path.find(request.path);
    if (path == by_path.end()) {
      std::string known;
      for (const auto& [name, handlers] : by_path) known += "\n" + name;
      return {404, "text/plain; charset=utf-8", "not here; there is" + known + "\n"};
    }
    const auto handler = path->second.find(request.method == "HEAD" ? "GET" : request.method);
    if (handler == path->second.end()) return {405, "text/plain; charset=utf-8", "not that way\n"};
    try {
      return handler->second(request);
    } catch (const std::exception&) {
      return {500, "text/plain; charset=utf-8", "this page could not be made\n"};
    }
  }
};

// One client. It owns itself: the operation under way holds it, and the last one lets go.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket&& socket, Routes& routes) : stream_(std::move(socket)), routes_(routes) {
    ++routes_.connections;
  }
  ~Session() { --routes_.connections; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(routes_.options.most_header_bytes));
    parser_->body_limit(routes_.options.most_body_bytes);
    Expire();
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->OnRead(error); });
  }

 private:
  void Expire() {
    stream_.expires_after(
        std::chrono::milliseconds(static_cast<std::int64_t>(routes_.options.timeout.value * 1e3)));
  }

  void OnRead(error_code error) {
    if (error == http::error::header_limit)
      return Write({431, {}, "the header is too long\n"}, true);
    if (error == http::error::body_limit) return Write({413, {}, "the body is too long\n"}, true);
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return Write({400, {}, "this is no HTTP\n"}, true);
    }
    if (error) return;  // gone, or too slow
    const auto& message = parser_->get();
    HttpRequest request;
    request.method = std::string(message.method_string());
    const std::string target(message.target());
    const auto question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string::npos) request.query = target.substr(question + 1);
    request.body = message.body();
    head_ = request.method == "HEAD";
    Write(routes_.Answer(request), !message.keep_alive());
  }

  void Write(HttpResponse&& answer, bool last) {
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::server, "sharewell/" + std::string(core::kVersion));
    response_.set(http::field::content_type,
                  answer.type.empty() ? "text/plain; charset=utf-8" : answer.type);
    response_.set("X-Content-Type-Options", "nosniff");
    if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(!last);
    const std::size_t length = answer.body.size();
    if (!head_) response_.body() = std::move(answer.body);
    response_.content_length(length);
    Expire();
    http::async_write(stream_, response_,
                      [self = shared_from_this(), last](error_code error, std::size_t) {
                        self->OnWritten(error, last);
                      });
  }

  void OnWritten(error_code error, bool last) {
    if (error) return;
    if (!last) return Read();
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  Routes& routes_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  bool head_ = false;
};

}  // namespace

struct HttpServer::Inside {
  Routes routes;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context};
  std::uint16_t port = 0;
  std::thread thread;

  void Accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        timer.expires_after(kAcceptAgain);
        timer.async_wait([this](error_code stopped) {
          if (!stopped) Accept();
        });
        return;
      }
      // One too many is closed again at once.
      if (routes.connections < routes.options.most_connections) {
        std::make_shared<Session>(std::move(socket), routes)->Read();
      }
      Accept();
    });
  }
};

HttpServer::HttpServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

HttpServer::~HttpServer() { Stop(); }

core::Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const Endpoint& endpoint,
                                                             const HttpOptions& options) {
  auto inside = std::make_unique<Inside>();
  inside->routes.options = options;
  error_code error;
  const auto address = asio::ip::make_address(endpoint.address, error);
  const tcp::endpoint at(address, endpoint.port);
  auto& acceptor = inside->acceptor;
  if (!error) acceptor.open(at.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(at, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return core::FailedError("cannot listen on {}: {}; give another address or port",
                             endpoint.Text(), error.message());
  }
  inside->port = acceptor.local_endpoint(error).port();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(inside)));
}

void HttpServer::Route(const std::string& method, const std::string& path, Handler handler) {
  inside_->routes.by_path[path][method] = std::move(handler);
}

void HttpServer::Start() {
  inside_->Accept();
  inside_->thread = std::thread([this] { inside_->context.run(); });
}

void HttpServer::Stop() {
  inside_->context.stop();
  if (inside_->thread.joinable()) inside_->thread.join();
}

std::uint16_t HttpServer::Port() const { return inside_->port; }

}  // namespace sharewell::serve
