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

TEST_F(HostileClientsTest, A1_WhatAllUsersHaveUnderWayIsBoundedToo) {
  HttpOptions options;
  options.most_bytes = 40 << 20;  // twice that for the server's user, who asks here
  options.limits = [](auto) { return core::Limits{.request_bytes = core::Bytes(200 << 20)}; };
  Serve(options);
  Clients clients;
  const auto ask = [&](const char* what) {
    clients.push_back(std::make_unique<Client>(path_));
    clients.back()->Send(what);
    return clients.back()->Until("\r\n\r\n");
  };
  constexpr const char* kLong = "GET /long HTTP/1.1\r\n\r\n";
  EXPECT_THAT(ask(kLong), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(kLong), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(kLong), StartsWith("HTTP/1.1 503 ")) << "within the user's own limit";
  EXPECT_THAT(ask(kHello), StartsWith("HTTP/1.1 200 ")) << "what is short goes on";
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
  options.log = [&](const std::string& line) { said.push_back(line); };
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
