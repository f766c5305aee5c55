#include "http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "http/routes.h"
#include "http/test_client.h"
#include "platform/files/test_folder.h"

namespace sharewell::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Client = TestClient;

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(const HttpOptions& options = {},
             const std::vector<ListenAddress>& listen_addresses = {ListenAddress{}}) {
    auto server = HttpServer::Listen(listen_addresses, options);
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
    server_->Route(
        "POST", "/jobs/{number}/logs",
        [this](const HttpRequest& request, const Responder& responder) {
          later_ = std::thread([responder, said = request.parameters.front() + request.body] {
            responder.Answer({201, "text/x", "later " + said, {{"X-More", "yes"}}});
            responder.Answer({200, "text/x", "twice", {}});
          });
        },
        1 << 20);
    server_->Route(
        "GET", "/dropped", [](const HttpRequest&, const Responder&) {}, 0);
    server_->Route(
        "GET", "/stream",
        [this](const HttpRequest&, const Responder& responder) {
          auto writer = responder.Stream({200, "text/event-stream", {}, {}}, [this] { ++gone_; });
          const std::lock_guard lock(mutex_);
          writers_.push_back(std::move(writer));
        },
        0);
    server_->Route(
        "GET", "/waits",
        [this](const HttpRequest&, const Responder& responder) {
          responder.WhenGone([this] { ++left_; });
          const std::lock_guard lock(mutex_);
          waiting_.push_back(responder);
        },
        0);
    server_->Start();
  }
  ~HttpServerTest() override {
    if (later_.joinable()) later_.join();
  }
  // All streams that were opened so far get it; how long the writing took at most.
  double WriteAll(const std::string& text) {
    const auto bytes = std::make_shared<const std::string>(text);
    const auto before = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    for (const StreamWriter& writer : writers_) writer.Write(bytes);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  }
  template <class Condition>
  static bool Soon(Condition condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  }
  std::string Ask(const std::string& request) const {
    const Client client(server_->Port());
    client.Send(request);
    return client.All();
  }
  std::string Get(const std::string& target, const std::string& method = "GET") const {
    return Ask(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  std::mutex mutex_;
  std::vector<StreamWriter> writers_;
  std::atomic<int> gone_{0}, left_{0};
  std::vector<Responder> waiting_;
  std::thread later_;
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
  Serve({.timeout = core::Seconds(0.5), .head_timeout = core::Seconds(0.25)});
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
  EXPECT_THAT(Get("/hello"), Not(HasSubstr("200 OK")));
  held.clear();
  EXPECT_TRUE(Soon([&] { return Get("/hello").find("200 OK") != std::string::npos; }));
}

TEST_F(HttpServerTest, OneClientCannotKeepOthersOut) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("s.sock");
  HttpOptions options;
  options.limits = [](auto) { return core::Limits{.connections = 2}; };
  options.gives_way = core::Seconds(60);
  Serve(options, {ListenAddress{}, {.kind = ListenKind::kUnix, .path = path}});
  const Client first(server_->Port()), second(server_->Port());
  first.Send("GET /hello HTTP/1.1\r\n\r\n"), second.Send("GET /hello HTTP/1.1\r\n\r\n");
  first.Until("hello "), second.Until("hello ");
  EXPECT_THAT(Get("/hello"), Not(HasSubstr("200 OK")));
  const Client other(path);
  other.Send("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(other.All(), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, AnswersThatComeLaterFromAnotherThread) {
  Serve();
  EXPECT_THAT(Ask("POST /jobs/17/logs HTTP/1.1\r\nConnection: close\r\nContent-Length: "
                  "1\r\n\r\n!"),
              testing::AllOf(StartsWith("HTTP/1.1 201 Created\r\n"), HasSubstr("X-More: yes\r\n"),
                             testing::EndsWith("\r\n\r\nlater 17!")));
  EXPECT_THAT(Get("/dropped"), StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(server_->Figures().failed, 1U);
}

TEST_F(HttpServerTest, BodiesInChunksAndAfterAnInvitation) {
  Serve();
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
              testing::EndsWith("\r\n\r\nabcde"));
  const Client client(server_->Port());
  client.Send("POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.Until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  // The body, and two more requests behind it.
  client.Send(
      "hiGET /hello?1 HTTP/1.1\r\n\r\nGET /hello?2 HTTP/1.1\r\nConnection: "
      "close\r\n\r\n");
  client.Half();
  EXPECT_THAT(client.All(),
              testing::AllOf(HasSubstr("\r\n\r\nhi"), HasSubstr("hello 1"), HasSubstr("hello 2")));
  // A whole request, and the client's end closed at once.
  const Client half(server_->Port());
  half.Send("GET /hello?half HTTP/1.1\r\n\r\n");
  half.Half();
  EXPECT_THAT(half.All(), HasSubstr("hello half"));
}

TEST_F(HttpServerTest, TheGateIsAskedBeforeABodyIsTaken) {
  auto listening = HttpServer::Listen(std::vector<ListenAddress>{ListenAddress{}});
  ASSERT_TRUE(listening);
  server_ = std::move(*listening);
  server_->SetGate([](const HttpRequest& request) -> HttpServer::Admission {
    if (request.authorization == "Bearer x" && request.host == "here") return {};
    return {.refusal = HttpResponse{401, "text/x", "who are you", {}}, .uid = {}};
  });
  server_->Route("POST", "/echo", [](const HttpRequest& r) {
    return HttpResponse{200, "text/x", r.body, {}};
  });
  server_->Start();
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 60000\r\n\r\n"),
              StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer x\r\n"
                  "Connection: close\r\nContent-Length: 2\r\n\r\nok"),
              testing::EndsWith("\r\n\r\nok"));
}

TEST_F(HttpServerTest, StreamsAreManyAndASlowReaderIsCutOff) {
  Serve({.most_connections = 8, .most_stream_bytes = 1 << 20});
  constexpr int kStreams = 30;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i <= kStreams; ++i) {
    clients.push_back(std::make_unique<Client>(server_->Port()));
    ASSERT_TRUE(clients.back()->Send("GET /stream HTTP/1.1\r\n\r\n"));
    ASSERT_THAT(clients.back()->Until("\r\n\r\n"), HasSubstr("text/event-stream"));
  }
  EXPECT_EQ(server_->Figures().streams, kStreams + 1U);
  EXPECT_EQ(server_->Figures().connections, 0U);
  // The last one reads nothing. The kernel holds some megabytes for it, then the server does.
  const int little = 4096;
  ::setsockopt(clients.back()->fd(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
  const std::string text(16384, 'x');
  std::vector<std::thread> readers;
  std::atomic<std::size_t> got{0};
  for (int i = 0; i < kStreams; ++i) {
    readers.emplace_back([&, i] { got += clients[static_cast<std::size_t>(i)]->All().size(); });
  }
  constexpr int kEvents = 500;  // 8 MB to each
  double slowest = 0;
  for (int i = 0; i < kEvents; ++i) {
    slowest = std::max(slowest, WriteAll(text));
    if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(Soon([&] { return gone_ >= 1; })) << "the one that reads nothing is still there";
  EXPECT_LT(slowest, 1.0) << "writing waited for a reader";
  EXPECT_THAT(Get("/hello?still"), HasSubstr("hello still"));
  {
    const std::lock_guard lock(mutex_);
    for (const StreamWriter& writer : writers_) writer.Close();
  }
  for (std::thread& reader : readers) reader.join();
  clients.clear();
  EXPECT_TRUE(Soon([&] { return server_->Figures().streams == 0; }));
  EXPECT_EQ(gone_, kStreams + 1);
  EXPECT_FALSE(writers_.front().Write(std::make_shared<const std::string>("x")));
}

TEST_F(HttpServerTest, AStreamEndsWhenItsClientGoesAndThereAreOnlySoMany) {
  Serve({.most_streams = 1});
  {
    const Client client(server_->Port());
    client.Send("GET /stream HTTP/1.1\r\n\r\n");
    client.Until("\r\n\r\n");
    EXPECT_THAT(Get("/stream"), StartsWith("HTTP/1.1 503 "));
    EXPECT_EQ(gone_, 1);
    WriteAll("data: 1\n\n");
    EXPECT_EQ(client.Until("\n\n"), "data: 1\n\n");
  }
  EXPECT_TRUE(Soon([&] { return gone_ == 2 && server_->Figures().streams == 0; }));
  EXPECT_THAT(Get("/stream", "HEAD"), HasSubstr("text/event-stream"));
}

TEST_F(HttpServerTest, B1_WhoAnswersLaterHearsThatTheClientLeft) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("s");
  Serve({}, {ListenAddress{}, {.kind = ListenKind::kUnix, .path = path}});
  const auto waiting = [&] {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  };
  std::optional<Client> tcp(server_->Port()), local(path), stays(path);
  for (const auto* client : {&tcp, &local, &stays}) {
    (*client)->Send("GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  ASSERT_TRUE(Soon([&] { return waiting() == 3; }));
  tcp.reset();
  EXPECT_TRUE(Soon([&] { return left_ == 1; }));
  local.reset();
  EXPECT_TRUE(Soon([&] { return left_ == 2; }));
  // Whoever stays is answered, and leaving afterwards is nobody's business.
  const std::lock_guard lock(mutex_);
  for (const Responder& responder : waiting_) responder.Answer({200, "text/x", "done", {}});
  EXPECT_THAT(stays->Until("done"), HasSubstr("200"));
  stays.reset();
  EXPECT_TRUE(Soon([&] { return server_->Figures().connections == 0; }));
  EXPECT_EQ(left_, 2);
}

TEST_F(HttpServerTest, AUnixSocketSaysWhoCalls) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("s.sock");
  const ListenAddress listen_at{.kind = ListenKind::kUnix, .path = path, .mode = 0640};
  { folder.Write("s.sock", "no socket"); }
  EXPECT_THAT(HttpServer::Listen({listen_at}).error().message, HasSubstr("something else"));
  ::unlink(path.c_str());
  {  // What a dead server leaves.
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ::close(dead);
  }
  auto server = HttpServer::Listen({listen_at});
  ASSERT_TRUE(server) << server.error().message;
  (*server)->Route("GET", "/who", [](const HttpRequest& request) {
    const Peer& peer = request.peer;
    return HttpResponse{.body = peer.came_by == ListenKind::kUnix && peer.uid == ::getuid() &&
                                        peer.gid == ::getgid()
                                    ? "me"
                                    : "somebody"};
  });
  (*server)->Start();
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0640U);
  EXPECT_THAT(HttpServer::Listen({listen_at}).error().message, HasSubstr("a server listens there"));
  const Client client(path);
  client.Send("GET /who HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.All(), testing::EndsWith("\r\n\r\nme"));
  server->reset();
  EXPECT_NE(::stat(path.c_str(), &file), 0) << "the socket is left behind";
  EXPECT_EQ(
      HttpServer::Listen({ListenAddress{.kind = ListenKind::kUnix, .path = std::string(300, 'x')}})
          .error()
          .kind,
      core::ErrorKind::kUsage);
}

TEST_F(HttpServerTest, PlainTcpElsewhereIsRefused) {
  const auto server = HttpServer::Listen(std::vector<ListenAddress>{{.endpoint = {"0.0.0.0", 0}}});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(server.error().message, HasSubstr("--tls-cert"));
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

TEST(RouteTable, PartsAndMethods) {
  RouteTable table;
  EXPECT_EQ(table.Add("GET", "/jobs/{number}"), 0U);
  EXPECT_EQ(table.Add("POST", "/jobs/{number}/hold"), 1U);
  EXPECT_EQ(table.Find("HEAD", "/jobs/a%2Fb").parameters, std::vector<std::string>{"a/b"});
  EXPECT_FALSE(table.Find("GET", "/jobs/").route);
  EXPECT_FALSE(table.Find("GET", "/jobs/1/").route);
  EXPECT_EQ(table.Find("GET", "/jobs/1/hold").allowed, "POST");
  EXPECT_EQ(table.Find("DELETE", "/jobs/1").allowed, "GET, HEAD");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(ParseQuery("a=1&&b&c=x+y%3D%zz%"), (Pairs{{"a", "1"}, {"b", ""}, {"c", "x y=%zz%"}}));
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
}  // namespace sharewell::http
