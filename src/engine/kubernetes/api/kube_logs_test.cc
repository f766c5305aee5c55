#include "engine/kubernetes/api/kube_logs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/kubernetes/api/scripted_kube.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What pods have written, as an API server gives it: whole lines from a second on.
class KubeLogsTest : public ::testing::Test {
 protected:
  KubeLogsTest() {
    kube_.on_ask = [this](const KubeRequest& request) -> core::Result<KubeAnswer> {
      if (status_ != 200) return KubeAnswer{status_, R"({"kind":"Status","message":"no"})", {}};
      const std::string name = Between(request.path, "/pods/", "/log");
      const std::string since = Between(request.path + "&", "sinceTime=", "&").substr(0, 19);
      std::string body;
      for (const std::string& line : written_[name]) {
        if (line.substr(0, 19) >= since) body += line;
      }
      return KubeAnswer{200, body, {}};
    };
  }
  static std::string Between(const std::string& text, const std::string& begin,
                             const std::string& end) {
    const auto at = text.find(begin);
    if (at == std::string::npos) return {};
    const auto from = at + begin.size();
    return text.substr(from, text.find(end, from) - from);
  }
  // Another moment of one second.
  void Write(const std::string& pod, int nanos, const std::string& text) {
    written_[pod].push_back(fmt::format("2026-11-19T21:00:00.{:09}Z {}", nanos, text));
  }
  core::Result<KubeLogPart> Read(std::int64_t offset = 0, std::size_t most = 1000) {
    now_ += Seconds(1);
    return logs_.Read(7, over_, offset, most,
                      [this]() -> core::Result<std::vector<KubeLogPod>> { return pods_; });
  }

  ScriptedKube kube_;
  Seconds now_{100};
  KubeLogs logs_{kube_, [this] { return now_; }};
  std::map<std::string, std::vector<std::string>> written_;
  std::vector<KubeLogPod> pods_{{"u1", "team", "a", "main", false}};
  bool over_ = false;
  int status_ = 200;
};

TEST_F(KubeLogsTest, K11_IsReadOnFromTheLastLineAndToldByOffset) {
  Write("a", 5, "one\n");
  Write("a", 5, "two\n");
  auto part = Read();
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->bytes, "one\ntwo\n");
  EXPECT_EQ(part->next, 8);
  EXPECT_TRUE(part->all);
  EXPECT_THAT(kube_.asked.back().path,
              AllOf(StartsWith("/api/v1/namespaces/team/pods/a/log?timestamps=true&limitBytes="),
                    HasSubstr("&container=main"), Not(HasSubstr("sinceTime"))));
  Write("a", 5, "of the same moment\n");
  Write("a", 6, "half");
  part = Read(part->next);
  EXPECT_EQ(part->bytes, "of the same moment\n") << "half a line is not told";
  EXPECT_THAT(kube_.asked.back().path, EndsWith("&sinceTime=2026-11-19T21:00:00Z"));
  written_["a"].back() += " a line\n";
  EXPECT_EQ(Read(part->next)->bytes, "half a line\n");
  EXPECT_EQ(Read(4, 3)->bytes, "two");
  EXPECT_FALSE(Read(4, 3)->all);
  EXPECT_EQ(Read(-7)->bytes, "a line\n");
  EXPECT_EQ(Read(-9999)->bytes.substr(0, 4), "one\n");
  EXPECT_EQ(Read(9999)->next, 39) << "no further than it goes";
}

TEST_F(KubeLogsTest, K11_WhoFollowsAsksTheApiServerOnceASecond) {
  Write("a", 1, "one\n");
  (void)Read();
  const std::size_t before = kube_.asked.size();
  for (int i = 0; i < 10; ++i) {
    now_ += Seconds(-0.9);
    (void)Read();
  }
  EXPECT_LE(kube_.asked.size(), before + 1);
}

TEST_F(KubeLogsTest, K11_OfSeveralPodsEachLineNamesItsPodInTheOrderOfTime) {
  pods_.push_back({"u2", "team", "b", "main", false});
  Write("a", 1, "first\n");
  Write("b", 2, "second\n");
  Write("a", 3, "third\n");
  EXPECT_EQ(Read()->bytes, "a: first\nb: second\na: third\n");
}

TEST_F(KubeLogsTest, K11_AfterTheEndAllIsKeptThoughThePodIsDeleted) {
  Write("a", 1, "one\n");
  Write("a", 2, "without a line's end");
  over_ = pods_[0].over = true;
  EXPECT_EQ(Read()->bytes, "one\nwithout a line's end\n");
  const std::size_t before = kube_.asked.size();
  pods_.clear();
  const auto part = Read();
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_TRUE(part->all);
  EXPECT_EQ(kube_.asked.size(), before);
}

TEST_F(KubeLogsTest, K11_WhatCannotBeReadIsSaidWithTheCommandThatCan) {
  status_ = 403;
  auto part = Read();
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().message,
              AllOf(HasSubstr("get pods/log"), HasSubstr("`kubectl logs -n team a -c main`")));
  const std::size_t before = kube_.asked.size();
  EXPECT_FALSE(Read()) << "it is not asked for again at once";
  EXPECT_EQ(kube_.asked.size(), before);
  now_ += Seconds(10);
  status_ = 500;
  EXPECT_THAT(Read().error().message, HasSubstr("try `kubectl logs"));
  now_ += Seconds(10);
  status_ = 400;  // its container has not begun
  part = Read();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->bytes, "");
  status_ = 200;
  Write("a", 1, "one\n");
  EXPECT_EQ(Read()->bytes, "one\n");
}

TEST_F(KubeLogsTest, K11_AJobWhosePodsAreDeletedHasNoLog) {
  pods_.clear();
  EXPECT_EQ(Read()->bytes, "") << "it waits for its next pod";
  over_ = true;
  EXPECT_THAT(Read().error().message, HasSubstr("the pods of job 7 are deleted"));
}

TEST_F(KubeLogsTest, K11_OfALongLogTheNewestIsKept) {
  std::string line(1000, 'x');
  for (int i = 0; i < 6000; ++i) Write("a", i, line + "\n");
  Write("a", 6001, "last\n");
  const auto part = Read(0, 2000);
  EXPECT_GT(part->next, 1'800'000);
  EXPECT_THAT(part->bytes, StartsWith("xxx"));
  EXPECT_EQ(Read(-5)->bytes, "last\n");
  EXPECT_EQ(Read(-5)->next, 6000 * 1001 + 5) << "offsets count all that was written";
}

TEST_F(KubeLogsTest, K11_LinesWithoutATimeBelongToTheLineBefore) {
  written_["a"] = {"no time at all\n"};
  EXPECT_EQ(Read()->bytes, "");
  Write("a", 1, "one\n");
  written_["a"].emplace_back("more of it\n");
  EXPECT_EQ(Read()->bytes, "one\nmore of it\n");
}

TEST(KubeLogTime, IsReadToTheNanosecond) {
  EXPECT_EQ(ParseKubeLogTime("1970-01-01T00:00:01.5Z"), 1'500'000'000);
  EXPECT_EQ(ParseKubeLogTime("1970-01-01T01:00:00.000000007+01:00"), 7);
  EXPECT_EQ(ParseKubeLogTime("1970-01-01T00:00:02Z"), 2'000'000'000);
  for (const char* bad : {"", "now", "1970-01-01T00:00:01", "1970-01-01T00:00:01.Z",
                          "1970-01-01 00:00:01Z", "1970-01-01T00:00:01.5", "9999-01-01T00:00:00Z",
                          "1969-01-01T00:00:00Z", "1970-13-01T00:00:01Z"}) {
    EXPECT_FALSE(ParseKubeLogTime(bad)) << bad;
  }
}

}  // namespace
}  // namespace sharewell::engine
