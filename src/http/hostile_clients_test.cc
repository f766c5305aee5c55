// What clients may try against each other: they take all places, send slowly, read slowly, send
// without end, use up the server's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "http/http_server.h"
#include "http/meter.h"
#include "http/test_client.h"
#include "platform/files/test_folder.h"

namespace sharewell::http {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Client = TestClient;
using Clients = std::vector<std::unique_ptr<Client>>;

constexpr const char* kHello = "GET /hello HTTP/1.1\r\n\r\n";
constexpr const char* kOnce = "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n";

class HostileClientsTest : public ::testing::Test {
 protected:
  void Serve(const HttpOptions& options = {}, HttpServer::Gate gate = {}) {
    auto server = HttpServer::Listen({ListenAddress{}, Socket()}, options);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    if (gate) server_->SetGate(std::move(gate));
    server_->Route("GET", "/hello", [](const HttpRequest&) {
      return HttpResponse{200, "text/x", "hello"};
    });
    server_->Route("GET", "/long", [](const HttpRequest&) {
      return HttpResponse{200, "text/x", std::string(std::size_t{32} << 20, 'x')};
    });
    server_->Route("GET", "/busy", [](const HttpRequest&) {
      Meter meter;  // of this thread's own time: on a busy machine the clock runs ahead of it
      do {
        const MeteredBlock block(&meter);
        for (volatile int i = 0; i < 100'000;) i = i + 1;
      } while (!meter.Wait(core::Seconds(0.1), {}));
      return HttpResponse{200, "text/x", "done"};
    });
    server_->Route(
        "GET", "/stream",
        [](const HttpRequest&, const Responder& responder) {
          responder.Stream({200, "text/event-stream", {}, {}}, [] {});
        },
        0);
    server_->Start();
  }
  ListenAddress Socket() const { return {.kind = ListenKind::kUnix, .path = path_}; }
  Clients Half(int count) const {
    Clients clients;
    for (int i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<Client>(server_->Port()));
      clients.back()->Send("GET /hello HTT");
    }
    return clients;
  }
  static std::string Ask(const Client& client, const std::string& request = kOnce) {
    client.Send(request);
    return client.All();
  }
  template <class Condition>
  static bool Soon(Condition condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  }

  const platform::TestFolder folder_;
  const std::string path_ = folder_.Path("s.sock");
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HostileClientsTest, F15_TheSocketHasPlacesOfItsOwn) {
  Serve({.most_connections = 4, .gives_way = core::Seconds(60)});
  const Clients held = Half(4);
  EXPECT_THAT(Ask(Client(server_->Port())),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n"),
                    HasSubstr("the server is full: all 4 connections")));
  EXPECT_THAT(Ask(Client(path_)), HasSubstr("200 OK"));
}

TEST_F(HostileClientsTest, F15_LoopbackIsOnePeerAndItsRefusalNamesTheLimit) {
  HttpOptions options;
  options.limits = [](auto) { return core::Limits{.connections = 3}; };
  options.gives_way = core::Seconds(60);
  Serve(options);
  const Clients held = Half(3);
  EXPECT_THAT(Ask(Client(server_->Port())),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("3 connections open"),
                    HasSubstr("raise limits.connections in sharewell.toml")));
}

TEST_F(HostileClientsTest, F15_LoopbackIsCountedByWhoeverOpenedIt) {
  auto server = HttpServer::Listen(std::vector<ListenAddress>{ListenAddress{}});
  ASSERT_TRUE(server);
  server_ = std::move(*server);
  server_->Route("GET", "/hello", [](const HttpRequest& request) {
    const bool mine = request.peer.counted_uid.value_or(::getuid()) == ::getuid();
    return HttpResponse{.body = mine && !request.peer.uid ? "mine" : "somebody's"};
  });
  server_->Start();
  EXPECT_THAT(Ask(Client(server_->Port())), testing::EndsWith("\r\n\r\nmine"));
}

TEST_F(HostileClientsTest, A1_AUidCountsForItsOwner) {
  constexpr std::uint32_t kOwner = 4'000'000'000;
  HttpOptions options;
  options.counts_for = [](std::uint32_t uid) { return uid == ::getuid() ? kOwner : uid; };
  auto server = HttpServer::Listen({Socket()}, options);
  ASSERT_TRUE(server);
  server_ = std::move(*server);
  server_->Route("GET", "/hello", [&](const HttpRequest&) {
    const bool counted = server_->UseOf(kOwner).connections == 1;
    return HttpResponse{.body = counted && server_->UseOf(::getuid()).connections == 0
                                    ? "the owner's"
                                    : "another's"};
  });
  server_->Start();
  EXPECT_THAT(Ask(Client(path_)), testing::EndsWith("\r\n\r\nthe owner's"));
}

TEST_F(HostileClientsTest, F15_HalfSentRequestsGiveWayToTheNext) {
  HttpOptions options;
  options.limits = [](auto) { return core::Limits{.connections = 3}; };
  options.gives_way = core::Seconds(0.05);
  Serve(options);
  const Clients held = Half(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(Ask(Client(server_->Port())), HasSubstr("200 OK"));
}

TEST_F(HostileClientsTest, F15_WhoHasTheMostGivesWayToWhoHasFewer) {
  // A token tells users of the network apart.
  HttpOptions options{.most_connections = 6, .gives_way = core::Seconds(60)};
  Serve(options, [](const HttpRequest& request) -> HttpServer::Admission {
    if (request.authorization.empty()) return {};
    return {.refusal = {}, .uid = request.authorization == "Bearer a" ? 1001U : 1002U};
  });
  Clients greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.push_back(std::make_unique<Client>(server_->Port()));
    greedy.back()->Send("GET /hello HTTP/1.1\r\nAuthorization: Bearer a\r\n\r\n");
    ASSERT_THAT(greedy.back()->Until("hello"), HasSubstr("200 OK"));
  }
  const Client other(server_->Port());
  other.Send("GET /hello HTTP/1.1\r\nAuthorization: Bearer b\r\n\r\n");
  EXPECT_THAT(other.Until("hello"), HasSubstr("200 OK"));
  EXPECT_EQ(greedy.front()->All(), "");  // the one that was idle longest has gone
  EXPECT_EQ(server_->Figures().connections, 6U);
}

TEST_F(HostileClientsTest, F15_StreamsAreCountedByUser) {
  HttpOptions options;
  options.limits = [](auto) { return core::Limits{.streams = 2}; };
  Serve(options);
  const Client first(path_), second(path_), network(server_->Port());
  for (const Client* client : {&first, &second, &network}) {
    client->Send("GET /stream HTTP/1.1\r\n\r\n");
    EXPECT_THAT(client->Until("\r\n\r\n"), HasSubstr("200 OK"));
  }
  EXPECT_THAT(
      Ask(Client(path_), "GET /stream HTTP/1.1\r\nConnection: close\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("2 streams open"), HasSubstr("limits.streams")));
}

TEST_F(HostileClientsTest, F15_AHeadThatDribblesHasTwiceTheTimeAndNoMore) {
  Serve({.head_timeout = core::Seconds(0.3)});
  const Client client(server_->Port());
  const auto begin = std::chrono::steady_clock::now();
  const std::string head = "GET /hello HTTP/1.1\r\nX: " + std::string(200, 'x');
  for (const char c : head) {
    if (!client.Send(std::string(1, c))) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(10)) break;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST_F(HostileClientsTest, WhoUsesUpTheServersTimeIsToldWhenToComeBack) {
  HttpOptions options;
  options.limits = [](auto) { return core::Limits{.server_seconds_per_minute = 0.05}; };
  Serve(options);
  EXPECT_THAT(Ask(Client(server_->Port()), "GET /busy HTTP/1.1\r\nConnection: close\r\n\r\n"),
              HasSubstr("200 OK"));
  EXPECT_THAT(Ask(Client(server_->Port())),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: "),
                    HasSubstr("limits.server_seconds_per_minute")));
  EXPECT_THAT(Ask(Client(path_)), HasSubstr("200 OK"));  // another share, and the server's own user
}

TEST_F(HostileClientsTest, WhoReadsTooSlowlyIsLeft) {
  Serve({.timeout = core::Seconds(0.4)});
  const Client client(path_);
  client.Send("GET /long HTTP/1.1\r\n\r\n");
  client.Until("\r\n\r\n");
  char c = 0;
  bool left = false;
  for (int i = 0; i < 200 && !left; ++i) {  // a byte now and then is no progress
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    left = ::recv(client.fd(), &c, 1, 0) <= 0 || server_->Figures().connections == 0;
  }
  EXPECT_TRUE(left);
}

TEST_F(HostileClientsTest, AnswersThatNobodyReadsAreBounded) {
  HttpOptions options;
  options.limits = [](auto) { return core::Limits{.request_bytes = core::Bytes(40 << 20)}; };
  Serve(options);
  Clients clients;
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(path_));
    clients.back()->Send("GET /long HTTP/1.1\r\n\r\n");
    refused += clients.back()->Until("\r\n\r\n").find(" 429 ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(refused, 2);
}

TEST_F(HostileClientsTest, PipelinedRequestsAreAnsweredInOrderWhileOthersHaveTheirTurn) {
  Serve();
  constexpr int kRequests = 20'000;
  const Client greedy(server_->Port());
  std::thread sender([&] {
    std::string many;
    for (int i = 0; i < kRequests; ++i) many += kHello;
    greedy.Send(many);
    greedy.Half();
  });
  std::size_t got = 0;
  std::thread reader([&] { got = greedy.All().size(); });
  double slowest = 0;
  for (int i = 0; i < 50; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(Ask(Client(path_)), HasSubstr("200 OK"));
    slowest = std::max(
        slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  sender.join();
  reader.join();
  EXPECT_LT(slowest, 1.0);
  EXPECT_EQ(server_->Figures().requests, kRequests + 50U);
  EXPECT_GT(got, kRequests * std::string_view("hello").size());
}

TEST_F(HostileClientsTest, F19_APortThatAnotherHoldsIsTriedAgain) {
  auto first = HttpServer::Listen(Endpoint{"127.0.0.1", 0});
  ASSERT_TRUE(first);
  const std::uint16_t port = (*first)->Port();
  std::vector<std::string> said;  // the server's thread, and ours after it was stopped
  HttpOptions options;
  options.listen_again = core::Seconds(0.05);
  options.say = [&](const std::string& line) { said.push_back(line); };
  auto server = HttpServer::Listen({Socket(), {.endpoint = {"127.0.0.1", port}}}, options);
  ASSERT_TRUE(server) << server.error().message;
  (*server)->Route("GET", "/hello", [](const HttpRequest&) { return HttpResponse{}; });
  (*server)->Start();
  EXPECT_THAT(Ask(Client(path_)), HasSubstr("200 OK"));
  ASSERT_EQ((*server)->Missing().size(), 1U);
  EXPECT_THAT((*server)->Missing().front(), HasSubstr("another program holds that port"));
  EXPECT_EQ((*server)->Port(1), 0U);
  first->reset();
  EXPECT_TRUE(Soon([&] { return (*server)->Port(1) == port; }));
  EXPECT_TRUE((*server)->Missing().empty());
  EXPECT_THAT(Ask(Client(port)), HasSubstr("200 OK"));
  (*server)->Stop();
  EXPECT_EQ(said.size(), 1U);
}

}  // namespace
}  // namespace sharewell::http
