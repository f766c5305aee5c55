#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

namespace sharewell::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client of few words.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void Send(std::string_view text) const {
    ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Until the other side closes.
  std::string All() const {
    std::string text;
    char room[4096];
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
  int socket_;
  bool connected_ = false;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(const HttpOptions& options = {}) {
    auto server = HttpServer::Listen({"127.0.0.1", 0}, options);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    server_->Route("GET", "/hello", [](const HttpRequest& request) {
      return HttpResponse{200, "text/x", "hello " + request.query};
    });
    server_->Route("GET", "/broken",
                   [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no"); });
    server_->Route("POST", "/echo", [](const HttpRequest& r) {
      return HttpResponse{200, "text/x", r.body};
    });
    server_->Start();
  }
  std::string Ask(const std::string& request) const {
    const Client client(server_->Port());
    client.Send(request);
    return client.All();
  }
  std::string Get(const std::string& target, const std::string& method = "GET") const {
    return Ask(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, Routes) {
  Serve();
  const std::string page = Get("/hello?world");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/x\r\n"));
  EXPECT_THAT(page, HasSubstr("\r\n\r\nhello world"));
  EXPECT_THAT(Get("/elsewhere"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/elsewhere"), HasSubstr("\n/hello\n"));
  EXPECT_THAT(Get("/hello", "DELETE"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Get("/broken"), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"),
              HasSubstr("\r\n\r\nabc"));
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  Serve();
  const std::string head = Get("/hello?world", "HEAD");
  EXPECT_THAT(head, HasSubstr("Content-Length: 11\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(HttpServerTest, OneConnectionAsksManyTimes) {
  Serve();
  const Client client(server_->Port());
  for (int i = 0; i < 5; ++i) {
    client.Send("GET /hello?again HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.Until("hello again"), HasSubstr("200 OK"));
  }
}

TEST_F(HttpServerTest, WhatIsTooMuchIsCutOff) {
  Serve({.most_header_bytes = 1000, .most_body_bytes = 1000});
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nX: " + std::string(5000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask(std::string("\x16\x03\x01 what is this\r\n\r\n")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get("/hello"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, ASlowClientIsLeftAndAnEarlyOneNotMissed) {
  Serve({.timeout = core::Seconds(1)});
  EXPECT_EQ(Ask("GET /hello HTT"), "");  // All() returns since the server closed
  { const Client gone(server_->Port()); }
  EXPECT_THAT(Get("/hello"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, OnlySoManyAtOnce) {
  Serve({.most_connections = 3});
  std::vector<std::unique_ptr<Client>> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(std::make_unique<Client>(server_->Port()));
    held.back()->Send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    held.back()->Until("hello ");
  }
  EXPECT_EQ(Get("/hello"), "");
  held.clear();
  std::string page;
  for (int i = 0; i < 1000 && page.empty(); ++i) page = Get("/hello");
  EXPECT_THAT(page, HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, StopsWithClientsInTheMiddle) {
  Serve();
  const Client client(server_->Port());
  client.Send("GET /hel");
  server_->Stop();
  server_->Stop();
  server_.reset();
  EXPECT_EQ(client.All(), "");
}

TEST_F(HttpServerTest, APortThatIsTaken) {
  Serve();
  const auto second = HttpServer::Listen({"127.0.0.1", server_->Port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, core::ErrorKind::kFailed);
  EXPECT_THAT(second.error().message, HasSubstr("cannot listen on 127.0.0.1:"));
}

TEST(Endpoint, FromText) {
  EXPECT_EQ(ParseEndpoint("--listen", "127.0.0.1:80").value(), (Endpoint{"127.0.0.1", 80}));
  EXPECT_EQ(ParseEndpoint("--listen", "localhost:80").value(), (Endpoint{"127.0.0.1", 80}));
  EXPECT_EQ(ParseEndpoint("--listen", "8080").value(), (Endpoint{"127.0.0.1", 8080}));
  EXPECT_EQ(ParseEndpoint("--listen", "[::1]:9").value(), (Endpoint{"::1", 9}));
  EXPECT_EQ(ParseEndpoint("--listen", "[::1]:9")->Text(), "[::1]:9");
  EXPECT_TRUE(ParseEndpoint("--listen", "[::1]:9")->Loopback());
  EXPECT_TRUE(ParseEndpoint("--listen", "127.0.0.2:9")->Loopback());
  EXPECT_FALSE(ParseEndpoint("--listen", "0.0.0.0:9")->Loopback());
  for (const char* wrong : {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80",
                            "example.org:80", "127.0.0.1:80x", "127.0.0.1:-1", "[::1]80"}) {
    const auto endpoint = ParseEndpoint("--listen", wrong);
    ASSERT_FALSE(endpoint) << wrong;
    EXPECT_EQ(endpoint.error().kind, core::ErrorKind::kUsage);
    EXPECT_THAT(endpoint.error().message, StartsWith("--listen: '"));
  }
}

}  // namespace
}  // namespace sharewell::serve
