#include "engine/kubernetes/api/kube_http.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "platform/files/test_folder.h"
#include "platform/files/write_file.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Answer(const std::string& body, const std::string& head = "HTTP/1.1 200 OK\r\n") {
  return fmt::format("{}Content-Length: {}\r\n\r\n{}", head, body.size(), body);
}

// Speaks HTTP/1.1 on a free port of 127.0.0.1, each connection on a thread. `on_request` gets the
// whole request and a way to write; it returns whether the connection stays.
class LittleServer {
 public:
  using Write = std::function<void(const std::string&)>;
  explicit LittleServer(std::function<bool(const std::string&, const Write&)> on_request)
      : on_request_(std::move(on_request)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (::bind(socket_, plain, size) != 0 || ::listen(socket_, 64) != 0 ||
        ::getsockname(socket_, plain, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] {
      for (int one = 0; (one = ::accept(socket_, nullptr, nullptr)) >= 0;) {
        const std::lock_guard lock(mutex_);
        open_.push_back(one);
        threads_.emplace_back([this, one] { Serve(one); });
      }
    });
  }
  ~LittleServer() {
    ::shutdown(socket_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int one : open_) ::shutdown(one, SHUT_RDWR);
    }
    for (auto& thread : threads_) thread.join();
    for (const int one : open_) ::close(one);
    ::close(socket_);
  }
  LittleServer(const LittleServer&) = delete;
  LittleServer& operator=(const LittleServer&) = delete;

  std::string Url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::unique_ptr<KubeHttp> Driver(std::string token = "", std::string token_file = "") const {
    auto made = NewKubeHttp({.server = Url(),
                             .ca_pem = "",
                             .token = std::move(token),
                             .token_file = std::move(token_file)});
    return made ? std::move(*made) : nullptr;
  }

 private:
  void Serve(int one) {
    std::string text;
    char piece[4096];
    const Write write = [&](const std::string& bytes) {
      static_cast<void>(::send(one, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    };
    while (true) {
      const auto head = text.find("\r\n\r\n");
      std::size_t whole = std::string::npos;
      if (head != std::string::npos) {
        const auto at = text.find("Content-Length: ");
        whole = head + 4 + (at < head ? std::stoul(text.substr(at + 16)) : 0);
      }
      if (whole != std::string::npos && text.size() >= whole) {
        if (!on_request_(text.substr(0, whole), write)) {
          ::shutdown(one, SHUT_RDWR);
          return;
        }
        text.erase(0, whole);
        continue;
      }
      const ssize_t got = ::recv(one, piece, sizeof(piece), 0);
      if (got <= 0) return;
      text.append(piece, static_cast<std::size_t>(got));
    }
  }

  std::function<bool(const std::string&, const Write&)> on_request_;
  int socket_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// All lines of a watch until it ends.
std::vector<std::string> LinesOf(KubeDriver& driver, KubeWatch& watch, std::string& why) {
  std::vector<std::string> lines;
  for (int i = 0; i < 600 && watch.Take(lines, why); ++i) driver.WaitForLines(Seconds(0.1));
  return lines;
}

TEST(KubeHttp, SendsWhatItIsGivenAndTheTokenThatTheFileHasNow) {
  std::string seen;  // of the last request, which has been answered
  LittleServer server([&](const std::string& request, const LittleServer::Write& write) {
    seen = request;
    write(Answer("{}", "HTTP/1.1 201 Created\r\n"));
    return true;
  });
  const platform::TestFolder folder;
  ASSERT_TRUE(platform::WriteFile(folder.Path("token"), "first\n"));
  const auto driver = server.Driver("", folder.Path("token"));
  ASSERT_NE(driver, nullptr);
  const auto made = driver->Ask({"POST", "/api/v1/bindings", "{\"a\":1}", ""}, Seconds(60));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->body, "{}");
  EXPECT_TRUE(seen.starts_with("POST /api/v1/bindings HTTP/1.1\r\n")) << seen;
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer first\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_TRUE(seen.ends_with("{\"a\":1}"));
  // A service account's token is replaced by renaming.
  ASSERT_TRUE(platform::WriteFile(folder.Path("next"), "second"));
  ASSERT_EQ(::rename(folder.Path("next").c_str(), folder.Path("token").c_str()), 0);
  ASSERT_TRUE(driver->Ask({"PATCH", "/x", "{}", "application/merge-patch+json"}, Seconds(60)));
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer second\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Type: application/merge-patch+json\r\n"));
  EXPECT_EQ(seen.find("Content-Type"), seen.rfind("Content-Type")) << "two would be refused";
  ASSERT_EQ(::unlink(folder.Path("token").c_str()), 0);
  ASSERT_TRUE(driver->Ask({"DELETE", "/x", "", ""}, Seconds(60)));
  EXPECT_THAT(seen, HasSubstr("Bearer second\r\n")) << "between two tokens the last one serves";
  EXPECT_THAT(seen, Not(HasSubstr("Content-Type")));
  EXPECT_EQ(driver->requests(), 3);
}

TEST(KubeHttp, AsksManyAtOnceAndAnswersInTheirOrder) {
  LittleServer server([&](const std::string& request, const LittleServer::Write& write) {
    write(Answer(request.substr(4, request.find(' ', 4) - 4)));
    return true;
  });
  const auto driver = server.Driver();
  std::vector<KubeRequest> requests;
  for (int i = 0; i < 300; ++i) requests.push_back({"GET", fmt::format("/{}", i), "", ""});
  const auto answers = driver->AskAll(requests, Seconds(60));
  ASSERT_EQ(answers.size(), 300U);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    EXPECT_EQ(answers[i]->body, requests[i].path);
  }
}

TEST(KubeHttp, ARefusalIsAnAnswer) {
  LittleServer server([&](const std::string&, const LittleServer::Write& write) {
    write(Answer("slowly", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n"));
    return true;
  });
  const auto driver = server.Driver();
  const auto answer = driver->Ask({"GET", "/x", "", ""}, Seconds(60));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_EQ(answer->retry_after, Seconds(3));
  const auto watch = driver->Watch("/x?watch=1");
  std::string why;
  EXPECT_THAT(LinesOf(*driver, *watch, why), ElementsAre("slowly"));
  EXPECT_EQ(why, "");
  EXPECT_EQ(watch->status(), 429);
  EXPECT_EQ(watch->retry_after(), Seconds(3));
}

TEST(KubeHttp, AWatchGivesWholeLinesAndSaysHowItEnded) {
  LittleServer server([&](const std::string& request, const LittleServer::Write& write) {
    if (!request.starts_with("GET /watch")) {
      write(Answer("ok"));
      return true;
    }
    write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    write("4\r\none\n\r\n");
    write("6\r\ntwo\nth\r\n");
    write("4\r\nree\n\r\n");
    if (request.starts_with("GET /watch-cut")) {
      write("20\r\nfour is cut");
      return false;
    }
    write("0\r\n\r\n");
    return true;
  });
  const auto driver = server.Driver();
  std::string why;
  const auto whole = driver->Watch("/watch?x");
  const auto cut = driver->Watch("/watch-cut?x");
  EXPECT_EQ(whole->status(), 0);
  EXPECT_TRUE(driver->Ask({"GET", "/", "", ""}, Seconds(60))) << "beside the watches";
  EXPECT_THAT(LinesOf(*driver, *whole, why), ElementsAre("one", "two", "three"));
  EXPECT_EQ(why, "");
  EXPECT_EQ(whole->status(), 200);
  EXPECT_THAT(LinesOf(*driver, *cut, why), ElementsAre("one", "two", "three"));
  EXPECT_NE(why, "");
  EXPECT_EQ(cut->status(), 200);
}

TEST(KubeHttp, ASilentServerCostsTheLimitAndItsConnections) {
  LittleServer server([&](const std::string& request, const LittleServer::Write& write) {
    if (request.starts_with("GET /watch")) {
      write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    } else if (request.starts_with("GET /ok")) {
      write(Answer("ok"));
    }
    return true;
  });
  const auto driver = server.Driver("secret-token");
  const auto watch = driver->Watch("/watch");
  driver->WaitForLines(Seconds(60));  // the head is news too
  EXPECT_EQ(watch->status(), 200);
  const std::vector<KubeRequest> requests(100, KubeRequest{"GET", "/silent", "", ""});
  const auto answers = driver->AskAll(requests, Seconds(1.5));
  for (const auto& answer : answers) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
    EXPECT_THAT(answer.error().message, Not(HasSubstr("secret-token")));
  }
  EXPECT_TRUE(std::any_of(answers.begin(), answers.end(), [](const auto& answer) {
    return answer.error().message.find("no whole answer within 1.5 s") != std::string::npos;
  }));
  // A connection that hangs would be used again: the watch is ended too, and says why.
  std::string why;
  EXPECT_THAT(LinesOf(*driver, *watch, why), ElementsAre());
  EXPECT_THAT(why, HasSubstr("given up"));
  EXPECT_TRUE(driver->Ask({"GET", "/ok", "", ""}, Seconds(60)));
}

TEST(KubeHttp, IsWokenByAnotherThread) {
  LittleServer server([](const std::string&, const LittleServer::Write&) { return true; });
  const auto driver = server.Driver();
  const auto watch = driver->Watch("/watch");
  std::thread waker([&] { driver->Wake(); });
  driver->WaitForLines(Seconds(600));
  waker.join();
}

TEST(KubeHttp, NobodyThereIsSaid) {
  std::string url;
  {
    LittleServer gone([](const std::string&, const LittleServer::Write&) { return false; });
    url = gone.Url();
  }
  const auto driver = NewKubeHttp({.server = url, .ca_pem = ""});
  ASSERT_TRUE(driver);
  const auto answer = (*driver)->Ask({"GET", "/", "", ""}, Seconds(60));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(answer.error().message, HasSubstr("nothing answers there"));
  std::string why;
  const auto watch = (*driver)->Watch("/");
  LinesOf(**driver, *watch, why);
  EXPECT_THAT(why, HasSubstr("nothing answers there"));
  EXPECT_EQ(watch->status(), 0);
}

TEST(KubeHttp, RefusesWhatWouldGiveTheTokenAway) {
  const auto error = [](KubeAccess access) {
    const auto made = NewKubeHttp(std::move(access));
    return made ? std::string() : made.error().message;
  };
  EXPECT_THAT(error({.server = "http://10.0.0.1:6443", .ca_pem = ""}), HasSubstr("without TLS"));
  EXPECT_THAT(error({.server = "http://127.0.0.1.example.org", .ca_pem = ""}),
              HasSubstr("without TLS"));
  EXPECT_THAT(error({.server = "http://localhost:1", .ca_pem = ""}), HasSubstr("without TLS"))
      << "a name may lead anywhere";
  EXPECT_EQ(error({.server = "http://[::1]:1", .ca_pem = ""}), "");
  EXPECT_THAT(error({.server = "https://10.0.0.1", .ca_pem = ""}), HasSubstr("authority"));
  EXPECT_THAT(error({.server = "file:///etc/passwd", .ca_pem = "x"}), HasSubstr("no address"));
  EXPECT_THAT(error({.server = "https://user:pass@host", .ca_pem = "x"}), HasSubstr("no address"));
  EXPECT_THAT(error({.server = "https://h", .ca_pem = "x", .certificate_pem = "y"}),
              HasSubstr("one is missing"));
  const std::string odd =
      error({.server = "http://127.0.0.1:1", .ca_pem = "", .token = "se\r\ncret: x"});
  EXPECT_THAT(odd, HasSubstr("no token"));
  EXPECT_THAT(odd, Not(HasSubstr("cret")));
}

}  // namespace
}  // namespace sharewell::engine
