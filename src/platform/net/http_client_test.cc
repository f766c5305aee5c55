#include "platform/net/http_client.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using testing::HasSubstr;

// Answers each connection with the same bytes, on a free port of 127.0.0.1 or at a path.
class FixedServer {
 public:
  FixedServer(const std::string& path, std::string answer) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(socket_, 8) != 0) {
      std::abort();
    }
    thread_ = std::thread([this] { Serve(); });
  }
  explicit FixedServer(std::string answer, bool reply = true) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (::bind(socket_, plain, size) != 0 || ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, plain, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    if (reply) thread_ = std::thread([this] { Serve(); });
  }
  ~FixedServer() {
    ::shutdown(socket_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(socket_);
  }
  std::string Url() const { return fmt::format("http://127.0.0.1:{}/metrics", port_); }
  const std::string& asked() const { return asked_; }  // after the answer came

 private:
  void Serve() {
    while (true) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      char buffer[4096];
      std::string asked;
      while (asked.find("\r\n\r\n") == std::string::npos) {
        const auto got = ::read(client, buffer, sizeof(buffer));
        if (got <= 0) break;
        asked.append(buffer, static_cast<std::size_t>(got));
      }
      if (const auto at = asked.find("Content-Length: "); at != std::string::npos) {
        const std::size_t body = std::stoul(asked.substr(at + 16));
        while (asked.size() - asked.find("\r\n\r\n") - 4 < body) {
          const auto got = ::read(client, buffer, sizeof(buffer));
          if (got <= 0) break;
          asked.append(buffer, static_cast<std::size_t>(got));
        }
      }
      asked_ = asked;
      std::string_view rest = answer_;
      while (!rest.empty()) {
        const auto sent = ::send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(sent));
      }
      ::close(client);
    }
  }

  std::string answer_, asked_;
  int socket_ = -1;
  int port_ = 0;
  std::thread thread_;
};

std::string Answer(int status, const std::string& body, const std::string& headers = "") {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{}\r\n{}",
                     status, body.size(), headers, body);
}

TEST(HttpClient, ReadsABodyAndSendsTheHeaders) {
  FixedServer server(Answer(200, "up 1\n"));
  const auto answer = HttpSend({.url = server.Url(), .headers = {"Accept: text/plain", "X-A: b"}});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->body, "up 1\n");
  EXPECT_THAT(server.asked(), HasSubstr("GET /metrics HTTP/1.1\r\n"));
  EXPECT_THAT(server.asked(), HasSubstr("X-A: b\r\n"));
}

TEST(HttpClient, RefusesWhatIsNoWebAddress) {
  for (const char* url : {"", "localhost:9400", "file:///etc/passwd", "ftp://host/x", "http://",
                          "http:///metrics", "http://a b/", "http://host/\n", "gopher://host/"}) {
    const auto answer = HttpSend({.url = url});
    ASSERT_FALSE(answer) << url;
    EXPECT_EQ(answer.error().kind, core::ErrorKind::kUsage) << url;
  }
}

TEST(HttpClient, FollowsNoRedirectToAnotherScheme) {
  FixedServer server(Answer(302, "", "Location: file:///etc/passwd\r\n"));
  const auto answer = HttpSend({.url = server.Url()});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(answer.error().message, HasSubstr("neither http nor https"));
}

TEST(HttpClient, EndsARedirectInCircles) {
  FixedServer server(Answer(302, "", "Location: /metrics\r\n"));
  const auto answer = HttpSend({.url = server.Url()});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kFailed);
}

TEST(HttpClient, StopsAtTheLimit) {
  FixedServer server(Answer(200, std::string(3 << 20, 'x')));
  const auto answer = HttpSend({.url = server.Url(), .most_bytes = 1 << 20});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("more than 1 MiB"));
}

TEST(HttpClient, SaysThatNothingAnswers) {
  std::string url;
  { url = FixedServer("").Url(); }  // its port is closed again
  const auto answer = HttpSend({.url = url});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(answer.error().message, HasSubstr("nothing answers there"));
}

TEST(HttpClient, DoesNotWaitForASilentServer) {
  FixedServer server("", false);
  const auto answer = HttpSend({.url = server.Url(), .timeout = core::Seconds(0.2)});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(answer.error().message, HasSubstr("within 0.2 s"));
}

TEST(HttpClient, SaysThatTheAnswerIsBroken) {
  FixedServer server("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
  EXPECT_FALSE(HttpSend({.url = server.Url()}));
  FixedServer noise("\x01\x02 no HTTP at all");
  EXPECT_FALSE(HttpSend({.url = noise.Url()}));
}

TEST(HttpClient, AServerThatGoesAwayInTheMiddleIsAbsent) {
  for (const char* half : {"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"}) {
    FixedServer server(half);
    const auto answer = HttpSend({.url = server.Url()});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
    EXPECT_THAT(answer.error().message, HasSubstr("went away before its answer was whole"));
  }
}

TEST(HttpClient, FetchWantsA200) {
  EXPECT_EQ(*Fetch({.url = FixedServer(Answer(200, "x")).Url()}), "x");
  FixedServer gone(Answer(404, "no"));
  const auto missing = Fetch({.url = gone.Url()});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/metrics"));
  FixedServer broken(Answer(500, ""));
  EXPECT_EQ(Fetch({.url = broken.Url()}).error().kind, core::ErrorKind::kFailed);
}

TEST(HttpClient, PostsThroughASocketAndReadsTheHeadersItAskedFor) {
  const TestFolder folder;
  const std::string path = folder.Path("s");
  FixedServer server(path, Answer(201, "{}", "X-Next-Offset:  17 \r\n"));
  const std::string body(2 << 20, 'b');
  const auto answer = HttpSend({.url = "http://localhost/api",
                                .headers = {"Content-Type: application/json"},
                                .method = "POST",
                                .body = body,
                                .unix_socket = path,
                                .token = "secret",
                                .wanted = {"x-next-offset", "X-Ended"}});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_THAT(answer->wanted, testing::ElementsAre("17", ""));
  EXPECT_THAT(server.asked(), HasSubstr("POST /api HTTP/1.1\r\n"));
  EXPECT_THAT(server.asked(), HasSubstr("Authorization: Bearer secret\r\n"));
  EXPECT_TRUE(server.asked().ends_with(body));
  const auto gone = HttpSend({.url = "http://localhost/", .unix_socket = folder.Path("none")});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, core::ErrorKind::kAbsent);
}

TEST(HttpClient, StreamsUntilItHasEnough) {
  FixedServer server(Answer(200, std::string(1 << 20, 'x')));
  std::size_t seen = 0;
  const auto some = HttpSend({.url = server.Url(), .on_body = [&](std::string_view piece) {
                                seen += piece.size();
                                return seen < 1000;
                              }});
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_GE(seen, 1000U);
  EXPECT_LT(seen, std::size_t{1} << 20);
  FixedServer failing(Answer(503, "busy"));  // what is no 200 is a body as ever
  const auto busy = HttpSend({.url = failing.Url(), .on_body = [](std::string_view) {
                                ADD_FAILURE();
                                return true;
                              }});
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->body, "busy");
  FixedServer silent("", false);
  EXPECT_TRUE(HttpSend({.url = silent.Url(), .on_wait = [] { return false; }}));
}

TEST(HttpClient, TakesNoTokenElsewhere) {
  FixedServer server(Answer(302, "", "Location: /elsewhere\r\n"));
  const auto answer = HttpSend({.url = server.Url(), .token = "secret"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 302);
}

TEST(HttpClient, FindsTheHost) {
  EXPECT_EQ(HostOfUrl("http://gpu1:9400/metrics"), "gpu1");
  EXPECT_EQ(HostOfUrl("https://user:pass@gpu1/"), "gpu1");
  EXPECT_EQ(HostOfUrl("http://[::1]:9400"), "::1");
  EXPECT_EQ(HostOfUrl("metrics.txt"), "");
  EXPECT_TRUE(LooksLikeUrl("http://x"));
  EXPECT_TRUE(LooksLikeUrl("file:///x"));
  EXPECT_FALSE(LooksLikeUrl("a/b://c"));
  EXPECT_FALSE(LooksLikeUrl("dump.txt"));
}

}  // namespace
}  // namespace sharewell::platform
