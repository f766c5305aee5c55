#include "server/health_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "http/test_client.h"

namespace sharewell::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string AskHealth(const HealthPage& page, const std::string& path = "/healthz") {
  const http::TestClient client(page.Port());
  client.Send("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return client.All();
}

TEST(HealthPage, TellsWhatIsWrong) {
  const auto page = HealthPage::Serve({.address = "127.0.0.1", .port = 0});
  ASSERT_TRUE(page) << page.error().message;
  // Before there is a server: it is alive.
  EXPECT_THAT(AskHealth(**page), ::testing::AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("waits")));
  (*page)->SetProblem([] { return std::string(); });
  EXPECT_THAT(AskHealth(**page), EndsWith("\r\n\r\nok\n"));
  (*page)->SetProblem([] { return std::string("the disk is full"); });
  EXPECT_THAT(AskHealth(**page), ::testing::AllOf(StartsWith("HTTP/1.1 503 "),
                                                  EndsWith("\r\n\r\nthe disk is full\n")));
  EXPECT_THAT(AskHealth(**page, "/metrics"), StartsWith("HTTP/1.1 404 "));
  // The address is taken.
  const auto second = HealthPage::Serve({.address = "127.0.0.1", .port = (*page)->Port()});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, StartsWith("--health: "));
}

TEST(HealthPage, AsksNoServerThatIsGone) {
  const auto page = HealthPage::Serve({.address = "127.0.0.1", .port = 0});
  ASSERT_TRUE(page) << page.error().message;
  std::atomic<bool> over = false;
  std::thread asks([&] {
    while (!over) AskHealth(**page);
  });
  for (int i = 0; i < 200; ++i) {
    const auto server = std::make_unique<std::string>();
    (*page)->SetProblem([&server] { return *server; });
    (*page)->SetProblem({});
  }
  over = true;
  asks.join();
}

}  // namespace
}  // namespace sharewell::server
