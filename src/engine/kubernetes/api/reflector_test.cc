#include "engine/kubernetes/api/reflector.h"

#include <gmock/gmock.h>

#include <string>

#include "engine/kubernetes/api/scripted_kube.h"
#include "engine/kubernetes/control/kube_status.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Object(const std::string& name, int version, const std::string& uid = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"lab","uid":"{}","resourceVersion":"{}"}},"spec":{{}}}})",
      name, uid.empty() ? "uid-" + name : uid, version);
}

std::string ListOf(const std::vector<std::string>& items, int version,
                   const std::string& next_page = "") {
  return fmt::format(
      R"({{"kind":"PodList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
      version, next_page, fmt::join(items, ","));
}

std::string Event(const std::string& type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string Refusal(int code, const std::string& reason) {
  return fmt::format(
      R"({{"kind":"Status","status":"Failure","message":"so says {}","reason":"{}","code":{}}})",
      code, reason, code);
}

core::Result<KubeAnswer> Ok(std::string body) { return KubeAnswer{200, std::move(body), {}}; }

// A reflector of pods, what it told so far in words, and the clock it looks at.
struct Fixture {
  ScriptedKube kube;
  Seconds now{1000};
  std::vector<core::Result<KubeAnswer>> answers;  // to lists, first to last; the last one stays
  Reflector reflector;
  std::string told;

  explicit Fixture(std::string selector = "", std::string name = "pods")
      : reflector(kube, {.name = std::move(name),
                         .path = "/api/v1/pods",
                         .selector = std::move(selector),
                         .page = 2}) {
    kube.on_ask = [this](const KubeRequest&) {
      auto answer = answers.front();
      if (answers.size() > 1) answers.erase(answers.begin());
      return answer;
    };
  }
  // "" or the error.
  std::string Look() {
    std::vector<KubeChange> changes;
    const auto looked = reflector.Look(now, changes);
    for (const KubeChange& change : changes) {
      told += fmt::format("{}{}={} ", change.kind == KubeChange::Kind::kPut ? '+' : '-', change.key,
                          change.uid);
    }
    return looked ? "" : looked.error().message;
  }
  std::string Told() { return std::exchange(told, {}); }
  void Wait() { now = std::max(now, reflector.NextLook()); }
};

TEST(Reflector, ListsInPagesThenWatchesFromThere) {
  Fixture f("labelSelector=a%3Db");
  f.answers = {Ok(ListOf({Object("a", 5), Object("b", 7)}, 9, "to/k=en")),
               Ok(ListOf({Object("c", 8)}, 9))};
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Told(), "+lab/a=uid-a +lab/b=uid-b +lab/c=uid-c ");
  ASSERT_EQ(f.kube.asked.size(), 2U);
  EXPECT_EQ(f.kube.asked[0].path, "/api/v1/pods?limit=2&labelSelector=a%3Db");
  EXPECT_EQ(f.kube.asked[1].path, "/api/v1/pods?limit=2&labelSelector=a%3Db&continue=to%2Fk%3Den");
  ASSERT_EQ(f.kube.feeds.size(), 1U);
  EXPECT_THAT(f.kube.LastFeed().path, HasSubstr("watch=1&allowWatchBookmarks=true"));
  EXPECT_THAT(f.kube.LastFeed().path, HasSubstr("resourceVersion=9&timeoutSeconds=3"));
  EXPECT_THAT(f.kube.LastFeed().path, HasSubstr("&labelSelector=a%3Db"));
  EXPECT_TRUE(f.reflector.IsCurrent());
  EXPECT_EQ(f.reflector.lists(), 1);
}

TEST(Reflector, TellsNothingOfAListThatHasNoEndYet) {
  Fixture f;
  f.answers = {Ok(ListOf({Object("a", 5)}, 9, "next")),
               KubeAnswer{503, Refusal(503, "ServiceUnavailable"), {}},
               Ok(ListOf({Object("b", 5)}, 9))};
  EXPECT_THAT(f.Look(), HasSubstr("cannot serve it now (503: so says 503)"));
  EXPECT_EQ(f.Told(), "");
  EXPECT_FALSE(f.reflector.IsCurrent());
  EXPECT_EQ(f.Look(), "") << "not due yet: nothing is asked";
  EXPECT_EQ(f.kube.asked.size(), 2U);
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Told(), "+lab/a=uid-a +lab/b=uid-b ");
  EXPECT_THAT(f.kube.asked[2].path, HasSubstr("continue=next")) << "only the page that failed";
  EXPECT_EQ(f.reflector.lists(), 1);
}

TEST(Reflector, AListWhoseNextPageIsForgottenIsReadWhole) {
  Fixture f;
  f.answers = {Ok(ListOf({Object("a", 5)}, 9, "old")), KubeAnswer{410, Refusal(410, "Expired"), {}},
               Ok(ListOf({Object("b", 11)}, 12))};
  EXPECT_THAT(f.Look(), HasSubstr("410"));
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Told(), "+lab/b=uid-b ") << "pages of two times are not joined";
  EXPECT_EQ(f.kube.asked[2].path, "/api/v1/pods?limit=0");
}

TEST(Reflector, TellsWhatAWatchSaysAndNothingTwice) {
  Fixture f;
  f.answers = {Ok(ListOf({Object("a", 5)}, 9))};
  f.Look();
  f.Told();
  auto& feed = f.kube.LastFeed();
  feed.Say(Event("MODIFIED", Object("a", 10)) + Event("MODIFIED", Object("a", 10)) +
           Event("ADDED", Object("b", 11)) + Event("DELETED", Object("a", 12)) +
           Event("DELETED", Object("z", 13)));
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Told(), "+lab/a=uid-a +lab/b=uid-b -lab/a=uid-a ");
}

TEST(Reflector, AnotherUidUnderTheSameNameIsAnotherObject) {
  Fixture f;
  f.answers = {Ok(ListOf({Object("a", 5)}, 9)), Ok(ListOf({Object("a", 20, "third")}, 21))};
  f.Look();
  f.kube.LastFeed().Say(Event("ADDED", Object("a", 10, "second")));
  f.Look();
  EXPECT_EQ(f.Told(), "+lab/a=uid-a -lab/a=uid-a +lab/a=second ");
  f.kube.LastFeed().Say(Event("ERROR", Refusal(410, "Expired")));
  EXPECT_THAT(f.Look(), HasSubstr("410"));
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Told(), "-lab/a=second +lab/a=third ");
  // The end of one that it never had: what it knows cannot be whole.
  f.kube.LastFeed().Say(Event("DELETED", Object("a", 22, "fourth")));
  EXPECT_THAT(f.Look(), HasSubstr("uid"));
  EXPECT_EQ(f.Told(), "");
  f.Wait();
  f.Look();
  EXPECT_EQ(f.reflector.lists(), 3);
}

TEST(Reflector, ANewListIsToldAsDifferences) {
  Fixture f;
  f.answers = {
      Ok(ListOf({Object("a", 5), Object("b", 6)}, 9, "n")), Ok(ListOf({Object("c", 7)}, 9)),
      Ok(ListOf({Object("b", 6), Object("c", 15)}, 19, "n")), Ok(ListOf({Object("d", 16)}, 19))};
  f.Look();
  f.Told();
  f.kube.LastFeed().Say(Event("ERROR", Refusal(410, "Expired")));  // with HTTP 200
  EXPECT_THAT(f.Look(), HasSubstr("so says 410"));
  EXPECT_FALSE(f.reflector.IsCurrent());
  EXPECT_GT(f.reflector.NextLook(), f.now) << "all that were cut at once must not list at once";
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Told(), "-lab/a=uid-a +lab/c=uid-c +lab/d=uid-d ");
  EXPECT_TRUE(f.reflector.IsCurrent());
  EXPECT_EQ(f.reflector.lists(), 2);
}

TEST(Reflector, ResumesWhereAWatchEndedAndBookmarksMoveThePointOn) {
  Fixture f;
  f.answers = {Ok(ListOf({}, 9))};
  f.Look();
  f.kube.LastFeed().Say(Event("ADDED", Object("a", 10)) +
                        Event("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"50"}})"));
  f.kube.LastFeed().End();
  EXPECT_EQ(f.Look(), "") << "an end in order is no error";
  ASSERT_EQ(f.kube.feeds.size(), 2U) << "and is followed at once";
  EXPECT_THAT(f.kube.LastFeed().path, HasSubstr("resourceVersion=50&"));
  EXPECT_TRUE(f.reflector.IsCurrent());
  f.kube.LastFeed().End("connection reset");
  EXPECT_THAT(f.Look(), HasSubstr("broke off: connection reset"));
  EXPECT_FALSE(f.reflector.IsCurrent());
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_FALSE(f.reflector.IsCurrent()) << "the new one has not begun";
  f.kube.LastFeed().status = 200;
  EXPECT_EQ(f.Look(), "");
  EXPECT_TRUE(f.reflector.IsCurrent());
  EXPECT_EQ(f.reflector.lists(), 1);
}

TEST(Reflector, AWatchCutAtAnyByteLosesNothingAndDoublesNothing) {
  const std::vector<std::string> events = {
      Event("ADDED", Object("a", 10)), Event("MODIFIED", Object("a", 11)),
      Event("ADDED", Object("b", 12)), Event("DELETED", Object("a", 13))};
  std::string all;
  for (const auto& event : events) all += event;
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    Fixture f;
    f.answers = {Ok(ListOf({}, 9))};
    f.Look();
    f.kube.LastFeed().status = 200;
    f.kube.LastFeed().Say(all.substr(0, cut));
    f.kube.LastFeed().End("cut");
    f.Look();
    f.Wait();
    f.Look();
    // The server goes on after the version that it is asked for.
    const std::string& path = f.kube.LastFeed().path;
    const auto at = path.find("resourceVersion=") + 16;
    const int from = std::stoi(path.substr(at));
    for (std::size_t i = static_cast<std::size_t>(from - 9); i < events.size(); ++i) {
      f.kube.LastFeed().Say(events[i]);
    }
    EXPECT_EQ(f.Look(), "") << cut;
    EXPECT_EQ(f.Told(), "+lab/a=uid-a +lab/a=uid-a +lab/b=uid-b -lab/a=uid-a ") << cut;
    EXPECT_EQ(f.reflector.lists(), 1);
  }
}

TEST(Reflector, WaitsAsLongAsTheServerAsks) {
  Fixture f;
  f.answers = {KubeAnswer{429, Refusal(429, "TooManyRequests"), Seconds(7)}, Ok(ListOf({}, 9))};
  EXPECT_THAT(f.Look(), HasSubstr("429"));
  EXPECT_GE(f.reflector.NextLook(), f.now + Seconds(7));
  EXPECT_LE(f.reflector.NextLook(), f.now + Seconds(14));
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  f.kube.LastFeed().Refuse(429, Refusal(429, "TooManyRequests"), Seconds(1e9));
  EXPECT_THAT(f.Look(), HasSubstr("cannot be watched"));
  EXPECT_LE(f.reflector.NextLook(), f.now + Seconds(120)) << "not for ever";
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.reflector.lists(), 1) << "a refused watch is asked for again, not the list";
}

TEST(Reflector, AStormOfErrorsIsMetWithFewerAndFewerQuestions) {
  Fixture f;
  f.answers = {KubeAnswer{500, "broken", {}}};
  const Seconds end = f.now + Seconds(600);
  while (f.now < end) {
    EXPECT_THAT(f.Look(), HasSubstr("500"));
    EXPECT_GT(f.reflector.NextLook(), f.now);
    EXPECT_LE(f.reflector.NextLook(), f.now + Seconds(10));
    f.Wait();
  }
  EXPECT_LE(f.kube.asked.size(), 130U) << "a pause of 5 to 10 s";
  EXPECT_EQ(f.reflector.lists(), 1);
}

TEST(Reflector, AServerThatForgetsAtOnceIsNotListedWithoutPause) {
  Fixture f;
  f.answers = {Ok(ListOf({Object("a", 5)}, 9))};
  const Seconds end = f.now + Seconds(600);
  while (f.now < end) {
    f.Look();
    f.kube.LastFeed().Say(Event("ERROR", Refusal(410, "Expired")));
    f.Look();
    f.Wait();
  }
  EXPECT_LE(f.reflector.lists(), 130);
  EXPECT_EQ(f.Told(), "+lab/a=uid-a ");
}

TEST(Reflector, WatchesThatEndAtOnceArePaused) {
  Fixture f;
  f.answers = {Ok(ListOf({}, 9))};
  f.Look();
  f.kube.LastFeed().status = 200;
  f.kube.LastFeed().End();
  EXPECT_THAT(f.Look(), HasSubstr("at once"));
  EXPECT_GT(f.reflector.NextLook(), f.now);
}

TEST(Reflector, ReflectorsOfDifferentNamesComeBackAtDifferentTimes) {
  std::set<double> times;
  for (const std::string name : {"pods", "nodes", "claims", "leases"}) {
    Fixture f("", name);
    f.answers = {KubeAnswer{500, "", {}}};
    f.Look();
    times.insert(f.reflector.NextLook().value);
  }
  EXPECT_EQ(times.size(), 4U);
}

TEST(Reflector, AWatchThatNeverBeginsOrNeverEndsIsGivenUp) {
  Fixture f;
  f.answers = {Ok(ListOf({}, 9))};
  f.Look();
  EXPECT_EQ(f.Look(), "");
  f.now += Seconds(31);
  EXPECT_THAT(f.Look(), HasSubstr("does not begin"));
  f.Wait();
  f.Look();
  f.kube.LastFeed().status = 200;
  EXPECT_EQ(f.Look(), "");
  f.now = f.reflector.NextLook() + Seconds(400);
  EXPECT_THAT(f.Look(), HasSubstr("does not end"));
  EXPECT_EQ(f.reflector.lists(), 1);
}

TEST(Reflector, NoAnswerIsToldAndTriedAgain) {
  Fixture f;
  f.answers = {core::FailedError("nothing answers at 10.0.0.1:6443"), Ok(ListOf({}, 9))};
  EXPECT_EQ(f.Look(), "pods: cannot be listed: nothing answers at 10.0.0.1:6443");
  f.Wait();
  EXPECT_EQ(f.Look(), "");
  EXPECT_TRUE(f.reflector.IsCurrent());
}

TEST(Reflector, WhatCannotBeReadIsListedAnew) {
  for (const std::string line :
       {"{\"type\":", "[]", "{}", R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})",
        R"({"type":"BOOKMARK","object":{}})", R"({"type":"NEWS","object":{}})"}) {
    Fixture f;
    f.answers = {Ok(ListOf({}, 9))};
    f.Look();
    f.kube.LastFeed().Say(line + "\n");
    EXPECT_NE(f.Look(), "") << line;
    f.Wait();
    EXPECT_EQ(f.Look(), "") << line;
    EXPECT_EQ(f.reflector.lists(), 2) << line;
  }
  for (const std::string body : {"", "{}", "[]", R"({"metadata":{"resourceVersion":"1"}})",
                                 R"({"metadata":{"resourceVersion":"1"},"items":3})",
                                 R"({"metadata":{"resourceVersion":"1"},"items":[{}]})"}) {
    Fixture f;
    f.answers = {Ok(body), Ok(R"({"metadata":{"resourceVersion":"1"},"items":null})")};
    EXPECT_NE(f.Look(), "") << body;
    EXPECT_FALSE(f.reflector.IsCurrent());
    f.Wait();
    EXPECT_EQ(f.Look(), "") << body;
  }
}

TEST(KubeStatus, NamesTheMissingRight) {
  const auto error = KubeRefused(
      "pods: cannot be listed",
      {.status = 403,
       .body =
           R"({"kind":"Status","code":403,"message":"pods is forbidden: User \"bob\" cannot list resource \"pods\""})",
       .retry_after = {}});
  EXPECT_EQ(error.kind, core::ErrorKind::kUsage);
  EXPECT_THAT(error.message, HasSubstr("User \"bob\" cannot list resource \"pods\""));
  EXPECT_THAT(error.message, HasSubstr("rbac.yaml"));
  EXPECT_EQ(ReadKubeStatus("not json").code, 0);
  EXPECT_EQ(ReadKubeStatus(R"({"kind":"Pod","code":403})").code, 0);
  EXPECT_EQ(ReadKubeStatus("{\"kind\":\"Status\",\"message\":\"a\\u001b[2Jb\"}").message, "a [2Jb");
  EXPECT_EQ(KubeEscaped("a b/c=%"), "a%20b%2Fc%3D%25");
}

TEST(Reflector, AWatchWhoseHeadComesLateGoesOn) {
  Fixture f;
  f.answers = {Ok(ListOf({}, 5))};
  EXPECT_EQ(f.Look(), "");
  f.now = f.now + Seconds(3);
  EXPECT_EQ(f.Look(), "") << "the head has not come";
  f.kube.LastFeed().Say(Event("ADDED", Object("a", 6)));
  EXPECT_EQ(f.Look(), "");
  f.now = f.now + Seconds(60);
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.kube.feeds.size(), 1U) << "the same watch";
}

}  // namespace
}  // namespace sharewell::engine
