#include "server/kubernetes/webhook_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/kubernetes/api/scripted_kube.h"

namespace sharewell::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kDays = 86'400;

// An API server that has one Secret and one MutatingWebhookConfiguration.
class WebhookServerTest : public ::testing::Test {
 protected:
  WebhookServerTest() {
    kube_.on_ask = [this](const engine::KubeRequest& request) { return Answer(request); };
  }

  core::Result<engine::KubeAnswer> Answer(const engine::KubeRequest& request) {
    if (forbids_ == request.method) return engine::KubeAnswer{403, "{}", {}};
    if (request.path.find("mutatingwebhook") != std::string::npos) {
      if (request.method == "PATCH") hook_ = request.body;
      return engine::KubeAnswer{200, hook_, {}};
    }
    if (request.method == "GET") {
      return engine::KubeAnswer{secret_.empty() ? 404 : 200, secret_, {}};
    }
    if (quicker_) {
      secret_ = *std::exchange(quicker_, std::nullopt);
      return engine::KubeAnswer{409, "{}", {}};
    }
    secret_ = request.body;
    if (request.method == "POST") {
      secret_.insert(secret_.find(R"("name":)"), R"("resourceVersion":"1",)");
    }
    return engine::KubeAnswer{request.method == "POST" ? 201 : 200, secret_, {}};
  }

  std::unique_ptr<WebhookServer> NewServer() {
    WebhookOptions options;
    options.listen = {"127.0.0.1", 0};
    options.name_space = "system";
    options.now = [this] { return now_; };
    return std::make_unique<WebhookServer>(kube_, std::move(options));
  }
  engine::WebhookKeys Keys() const { return engine::ParseKeys(secret_).value(); }
  std::size_t Writes() const {
    return static_cast<std::size_t>(
        std::count_if(kube_.asked.begin(), kube_.asked.end(),
                      [](const auto& request) { return request.method != "GET"; }));
  }

  engine::ScriptedKube kube_;
  std::string secret_;
  std::string hook_ = R"({"webhooks":[{"name":"pods.sharewell.io","clientConfig":{}}]})";
  std::string forbids_;                 // a method
  std::optional<std::string> quicker_;  // the Secret that another replica makes first
  std::int64_t now_ = 1'800'000'000;
};

TEST_F(WebhookServerTest, MakesItsCertificateTellsTheApiServerAndServes) {
  const auto server = NewServer();
  EXPECT_EQ(server->Port(), 0);
  auto done = server->Step();
  ASSERT_TRUE(done) << done.error().message;
  const std::uint16_t port = server->Port();
  EXPECT_NE(port, 0);
  EXPECT_EQ(Writes(), 2U);
  EXPECT_FALSE(engine::TrustRequest(hook_, Keys().authorities).value()) << "it trusts already";
  ASSERT_TRUE(server->Step());
  EXPECT_EQ(Writes(), 2U) << "nothing is left to be done";
  EXPECT_EQ(server->Port(), port);
}

TEST_F(WebhookServerTest, ReplicasShareACertificateWhoeverIsFirst) {
  const auto first = NewServer();
  ASSERT_TRUE(first->Step());
  quicker_ = std::exchange(secret_, "");
  const auto second = NewServer();
  const std::string hook = hook_;
  ASSERT_TRUE(second->Step());
  EXPECT_EQ(hook_, hook);
}

TEST_F(WebhookServerTest, ACertificateIsReplacedBeforeItEndsAndTheOneBeforeStaysTrusted) {
  const auto server = NewServer();
  ASSERT_TRUE(server->Step());
  const engine::WebhookKeys before = Keys();
  const std::uint16_t port = server->Port();
  now_ += 59 * kDays;
  ASSERT_TRUE(server->Step());
  EXPECT_EQ(Keys(), before);
  now_ += 2 * kDays;
  ASSERT_TRUE(server->Step());
  const engine::WebhookKeys after = Keys();
  EXPECT_NE(after.certificate, before.certificate);
  EXPECT_THAT(after.authorities, HasSubstr(before.authorities));
  EXPECT_EQ(server->Port(), port);
  now_ += 61 * kDays;
  ASSERT_TRUE(server->Step());
  EXPECT_THAT(Keys().authorities, Not(HasSubstr(before.authorities))) << "one before, no more";
}

TEST_F(WebhookServerTest, WhatCannotBeUsedIsReplaced) {
  secret_ = engine::WriteKeysRequest("system", {"no certificate", "", "", "3"}).body;
  const auto server = NewServer();
  ASSERT_TRUE(server->Step());
  EXPECT_THAT(Keys().certificate, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_NE(server->Port(), 0);
}

TEST_F(WebhookServerTest, ARightThatIsMissingIsNamedAndTriedAgain) {
  forbids_ = "POST";
  const auto server = NewServer();
  auto done = server->Step();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("the Secret sharewell-webhook"));
  EXPECT_EQ(server->Port(), 0);
  forbids_ = "PATCH";
  done = server->Step();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("MutatingWebhookConfiguration"));
  EXPECT_NE(server->Port(), 0) << "it serves: an admin may tell the API server";
  forbids_ = "";
  EXPECT_TRUE(server->Step());
}

}  // namespace
}  // namespace sharewell::server
