#include "engine/kubernetes/webhook/webhook_objects.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;

TEST(WebhookObjects, KeysAreReadAsTheyWereWritten) {
  const WebhookKeys keys{"CERT", "KEY", "NEW OLD", "7"};
  const KubeRequest put = WriteKeysRequest("system", keys);
  EXPECT_EQ(put.method, "PUT");
  EXPECT_EQ(put.path, "/api/v1/namespaces/system/secrets/sharewell-webhook");
  const auto read = ParseKeys(put.body);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, keys);

  const KubeRequest post = WriteKeysRequest("system", {"CERT", "KEY", "NEW", ""});
  EXPECT_EQ(post.method, "POST");
  EXPECT_EQ(post.path, "/api/v1/namespaces/system/secrets");
  EXPECT_EQ(post.body.find("resourceVersion"), std::string::npos);
}

TEST(WebhookObjects, WhatIsNoSecretIsAnErrorAndWhatIsMissingIsEmpty) {
  for (const char* text : {"", "[]", "{}", R"({"kind":"Secret"})",
                           R"({"kind":"Pod","metadata":{"resourceVersion":"1"}})"}) {
    EXPECT_FALSE(ParseKeys(text)) << text;
  }
  const auto keys = ParseKeys(
      R"({"kind":"Secret","metadata":{"resourceVersion":"1"},"data":{"tls.crt":"?","tls.key":3}})");
  ASSERT_TRUE(keys);
  EXPECT_EQ(*keys, (WebhookKeys{"", "", "", "1"}));
}

TEST(WebhookObjects, TheApiServerIsToldWhomToTrustWhereItDoesNot) {
  const std::string before =
      R"({"webhooks":[{"name":"a.example.org"},{"name":"pods.sharewell.io","clientConfig":{}}]})";
  const auto told = TrustRequest(before, "CA");
  ASSERT_TRUE(told && *told);
  EXPECT_EQ((*told)->method, "PATCH");
  EXPECT_EQ((*told)->body,
            R"({"webhooks":[{"name":"pods.sharewell.io","clientConfig":{"caBundle":"Q0E="}}]})");
  const auto trusted = TrustRequest((*told)->body, "CA");
  ASSERT_TRUE(trusted);
  EXPECT_FALSE(*trusted);
  const auto none = TrustRequest(R"({"webhooks":[{"name":"a.example.org"}]})", "CA");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("deploy/kubernetes/webhook"));
  EXPECT_FALSE(TrustRequest("no JSON", "CA"));
}

}  // namespace
}  // namespace sharewell::engine
