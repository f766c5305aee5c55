#include "api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "api/bodies.h"
#include "api/fake_job_service.h"
#include "api/logs.h"
#include "http/test_client.h"
#include "platform/files/test_folder.h"

namespace sharewell::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(const Privacy& privacy = {}, bool remote_logs = false) {
    auto server = http::HttpServer::Listen(
        std::vector<http::ListenAddress>{http::ListenAddress{},
                                         {.kind = http::ListenKind::kUnix, .path = socket_}},
        {.refusal = Problem});
    server_ = std::move(server.value());
    Studies studies;
    studies.forecast = [](const auto& job, const StudyRun&) -> core::Result<std::string> {
      return job ? "{\"start_ms\":5,\"gpus\":[0],\"why\":\"idle\"}" : "{\"jobs\":[]}";
    };
    studies.starts = []() -> core::Result<Starts> { return Starts{{1, 1'700'000'000'005}}; };
    studies.simulate = [](const std::string& trace, const std::string& name, const auto& policies,
                          const WhatIfProgress&, const StudyRun&) -> core::Result<std::string> {
      return fmt::format("{{\"asked\":\"{} {} {}\"}}", name, policies.back(), trace.size());
    };
    studies.usage_table = [](const UsageAsked& asked) -> core::Result<std::string> {
      if (asked.by != "user") return core::UsageError("by: give user");
      return fmt::format("{}", asked.csv ? "user,jobs\n" : R"({"by":"user"})") +
             fmt::format("{} {}", asked.from, asked.to - asked.from);
    };
    studies.usage = [](std::int64_t seconds) -> core::Result<std::string> {
      return fmt::format("{{\"seconds\":{}}}", seconds);
    };
    studies.whatif = [this](const auto& policies, double days, const WhatIfProgress& progress,
                            const StudyRun& run) -> core::Result<std::string> {
      if (policies.front() == "endless") {
        ++endless_;
        while (!run.stop.asked()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        --endless_;
        return core::FailedError("it was ended");
      }
      if (progress) {
        progress(0, 3, 10);
        std::unique_lock lock(mutex_);
        followed_.wait(lock, [this] { return go_on_; });
      }
      return fmt::format("{{\"asked\":\"{} {}\"}}", policies.front(), days);
    };
    studies.predict = [](const std::string& model, const Query&,
                         const StudyRun&) -> core::Result<std::string> {
      if (model == "bad") return core::UsageError("this is no model");
      return fmt::format("{{\"bytes\":{}}}", model.size());
    };
    studies.gpu_figures = [] {
      return std::map<std::string, GpuFigures>{{"simulated-0", {0.5, 1e9, {}}}};
    };
    studies.log_file = [this](std::int64_t, std::uint32_t,
                              bool errors) -> core::Result<std::vector<LogPiece>> {
      if (logs_gone_) return core::FailedError("they went after 30 days");
      return std::vector<LogPiece>{{folder_.Path(errors ? "err" : "out"), 100}};
    };
    if (remote_logs) {
      studies.remote_log = [](const auto& job, bool errors, std::int64_t offset,
                              std::size_t most) -> core::Result<LogPart> {
        if (offset == 99) return core::FailedError("Kubernetes does not answer");
        return LogPart{fmt::format("{} {} {} {}", job.number, errors, offset, most), 30, true};
      };
    }
    api_ = std::make_unique<Api>(
        *server_, service_, [this] { return store_.Open(); }, std::move(studies),
        ApiOptions{.access = {folder_.Path("tokens"), {}, ::getuid()},
                   .heartbeat = core::Seconds(0.3),
                   .privacy = privacy});
    server_->Start();
    const core::Account ann{"ann", ::getuid() + 1, 1, false};
    token_ = "Authorization: Bearer " + CreateToken(folder_.Path("tokens"), ann, "", 1).value();
  }
  ~ApiTest() override {
    server_->Stop();
    api_.reset();
  }

  static std::string Request(const std::string& what, const std::string& body,
                             const std::string& header) {
    return what + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + header +
           (header.empty() ? "" : "\r\n") + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  // Through the socket: as the server's own user, an admin.
  std::string Ask(const std::string& what, const std::string& body = "") const {
    const http::TestClient client(socket_);
    client.Send(Request(what, body, ""));
    return client.All();
  }
  // Through TCP: as nobody, or with a header.
  std::string Tcp(const std::string& what, const std::string& header = "",
                  const std::string& body = "") const {
    const http::TestClient client(server_->Port());
    client.Send(Request(what, body, header));
    return client.All();
  }

  const platform::TestFolder folder_;
  const std::string socket_ = folder_.Path("s.sock");
  FakeJobService service_;
  bool logs_gone_ = false;
  FakeJobStore store_;
  std::unique_ptr<http::HttpServer> server_;
  std::unique_ptr<Api> api_;
  std::string token_;
  std::mutex mutex_;
  std::condition_variable followed_;
  bool go_on_ = false;           // a what-if that somebody follows
  std::atomic<int> endless_{0};  // what-ifs that do not end by themselves

  bool Soon(const std::function<bool()>& holds) const {
    for (int i = 0; i < 6000 && !holds(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return holds();
  }
};

class RemoteLogsApiTest : public ApiTest {
 protected:
  RemoteLogsApiTest() : ApiTest({}, true) {}
};

class PrivateApiTest : public ApiTest {
 protected:
  PrivateApiTest() : ApiTest({.jobs = true, .setting = "PrivateData=jobs"}) {
    core::JobRecord job;
    job.number = 1;
    job.user = {"bob", 7, 7, false};
    job.phase = core::Phase::kRunning;
    job.asked.command = {"secret"};
    service_.jobs.Put(job);
    job.number = 2;
    job.user = {"ann", ::getuid() + 1, 1, false};
    job.asked.command = {"own"};
    job.gpus = {{0, "simulated-0", "H200"}};
    service_.jobs.Put(job);
    service_.view.gpus.front().jobs = {1, 2};
  }
};

TEST_F(PrivateApiTest, AUserSeesTheirOwnJobsAlone) {
  EXPECT_THAT(Ask("GET /api/v1/jobs"), AllOf(HasSubstr("secret"), HasSubstr("own")));
  EXPECT_THAT(Tcp("GET /api/v1/jobs", token_), AllOf(HasSubstr("own"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Tcp("GET /api/v1/jobs?user=bob", token_), HasSubstr("\"jobs\":[]"));
  EXPECT_THAT(Tcp("GET /api/v1/jobs"), StartsWith("HTTP/1.1 401 "));
  for (const char* what : {"", "/why", "/logs", "/speed", "/step"}) {
    const std::string path = fmt::format("GET /api/v1/jobs/1{}", what);
    EXPECT_THAT(Tcp(path, token_), StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(Tcp(path), StartsWith("HTTP/1.1 404 ")) << path;
  }
  EXPECT_THAT(Tcp("POST /api/v1/jobs/1/cancel", token_), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Tcp("GET /api/v1/jobs/2", token_), HasSubstr("own"));
  EXPECT_THAT(Tcp("GET /api/v1/jobs/2/why", token_), HasSubstr("it shares its GPU with 1 job\""));
}

TEST_F(PrivateApiTest, WhatTellsOfAllUsersJobsIsForOperators) {
  EXPECT_THAT(Tcp("GET /api/v1/gpus", token_), HasSubstr("\"jobs\":[2]"));
  EXPECT_THAT(Ask("GET /api/v1/gpus"), HasSubstr("\"jobs\":[1,2]"));
  for (const char* path :
       {"GET /api/v1/usage", "GET /api/v1/usage?by=user", "GET /api/v1/forecast"}) {
    EXPECT_THAT(Tcp(path, token_),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("PrivateData=jobs")));
    EXPECT_THAT(Ask(path), StartsWith("HTTP/1.1 200 "));
  }
}

TEST_F(PrivateApiTest, EventsOfOthersAreNotTold) {
  const http::TestClient client(server_->Port());
  client.Send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n" + token_ + "\r\n\r\n");
  client.Until(": sharewell\n\n");
  service_.hub.Publish({1, 6, "job.started", 1, "secret"});
  service_.hub.Publish({2, 6, "job.started", 2, "own"});
  service_.hub.Publish({3, 6, "server", 0, "all"});
  const std::string told = client.Until("\"all\"}\n\n");
  EXPECT_THAT(told, AllOf(HasSubstr("own"), Not(HasSubstr("secret"))));
}

TEST_F(ApiTest, F17_ListsAreShortAndInPagesOfBytes) {
  core::JobRecord job;
  job.user = {"bob", 7, 7, false};
  job.asked.command = {"train", std::string(2000, 'x'), "after"};
  job.asked.environment = {{"SECRET", "s"}};
  job.asked.folder = "/" + std::string(700'000, 'f');
  for (job.number = 1; job.number <= 3; ++job.number) service_.jobs.Put(job);
  const std::string page = Ask("GET /api/v1/jobs?live=1");
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page.substr(0, 4000), AllOf(HasSubstr("\"number\":3"), HasSubstr("xxx\",\"...\"]"),
                                          Not(HasSubstr("SECRET"))));
  EXPECT_THAT(page.substr(page.size() - 100), HasSubstr("\"next\":2}"));
  EXPECT_THAT(Ask("GET /api/v1/jobs?live=1&below=2").substr(0, 400), HasSubstr("\"number\":1,"));
  EXPECT_THAT(Ask("GET /api/v1/jobs/2"), AllOf(HasSubstr("SECRET"), HasSubstr("\"after\"")));
}

TEST(BodiesTest, F17_ASmallBodyDoesNotBecomeALargeDocument) {
  std::string body = R"({"jobs":[[])";
  for (int i = 0; i < 2'000'001; ++i) body += ",[]";
  const auto jobs = ParseSubmissions(body + "]}");
  ASSERT_FALSE(jobs);
  EXPECT_THAT(jobs.error().message, HasSubstr("send its jobs in several requests"));
}

TEST_F(ApiTest, AWhatIfIsFollowedByItsName) {
  constexpr const char* kWhere = "GET /api/v1/whatif/mine-1";
  EXPECT_THAT(Ask(kWhere), HasSubstr(R"("state":"unknown","policy":null,"policies":null)"));
  const std::string body = R"({"policies":["slot","pack"],"follow":"mine-1"})";
  std::thread study([&] { Ask("POST /api/v1/whatif", body); });
  std::string told;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (told.find("running") == std::string::npos && std::chrono::steady_clock::now() < end) {
    told = Ask(kWhere);
  }
  EXPECT_THAT(told, HasSubstr(R"("state":"running","policy":0,"policies":2,)"
                              R"("jobs_done":3,"jobs":10})"));
  EXPECT_THAT(Ask("POST /api/v1/whatif", body),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("another study has that name")));
  {
    const std::lock_guard lock(mutex_);
    go_on_ = true;
  }
  followed_.notify_all();
  study.join();
  EXPECT_THAT(Ask("POST /api/v1/whatif", R"({"policies":["slot"],"follow":"../x"})"),
              HasSubstr("letters, digits"));
  EXPECT_THAT(Ask("POST /api/v1/simulate?policies=slot,pack&name=a.csv", "id\n"),
              HasSubstr("{\"asked\":\"a.csv pack 3\"}"));
  EXPECT_THAT(Ask("POST /api/v1/simulate", "id\n"), HasSubstr("policies: give 1 to 20"));
  EXPECT_THAT(Tcp("POST /api/v1/simulate?policies=slot"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Ask("GET /api/v1/usage"), HasSubstr("{\"seconds\":604800}"));
  EXPECT_THAT(Tcp("GET /api/v1/usage?seconds=3600"), HasSubstr("{\"seconds\":3600}"));
  EXPECT_THAT(Ask("GET /api/v1/usage?seconds=1"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(ApiTest, UsageIsATableWhereOneIsAskedFor) {
  EXPECT_THAT(Ask("GET /api/v1/usage?by=user&from=2026-11-01&to=2026-11-02T12:00"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Type: application/json"),
                    HasSubstr(R"({"by":"user"}1793491200000 129600000)")));
  EXPECT_THAT(Tcp("GET /api/v1/usage?to=1793491200000&format=csv"),
              AllOf(HasSubstr("Content-Type: text/csv"), HasSubstr("usage.csv"),
                    HasSubstr("user,jobs\n1792886400000 604800000")));
  EXPECT_THAT(Tcp("GET /api/v1/usage?seconds=60&by=user&to=1793491200000"),
              HasSubstr("1793491140000 60000"));
  EXPECT_THAT(Ask("GET /api/v1/usage?by=us%65rs"), StartsWith("HTTP/1.1 400 "));
  for (const char* wrong : {"from=yesterday", "from=", "to=-5", "to=99999999999999999999",
                            "from=2026-11-02&to=2026-11-02", "format=xml",
                            "format=", "by=user&seconds=1", "from=2026-02-30"}) {
    EXPECT_THAT(Ask(fmt::format("GET /api/v1/usage?{}", wrong)),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("application/problem+json")))
        << wrong;
  }
  http::TestClient client(socket_);
  client.Send(
      "GET /api/v1/usage HTTP/1.1\r\nHost: h\r\nAccept: text/csv\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.All(), HasSubstr("Content-Type: text/csv"));
}

TEST_F(ApiTest, B1_AStudyEndsWhenItsClientLeaves) {
  std::optional<http::TestClient> client(socket_);
  client->Send(Request("POST /api/v1/whatif", R"({"policies":["endless"]})", ""));
  ASSERT_TRUE(Soon([&] { return endless_ == 1; }));
  client.reset();
  EXPECT_TRUE(Soon([&] { return endless_ == 0; }));
}

TEST_F(ApiTest, B1_SomebodyElsesSimulationIsNotWaitedFor) {
  std::deque<http::TestClient> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(socket_).Send(
        Request("POST /api/v1/whatif", R"({"policies":["endless"]})", ""));
  }
  ASSERT_TRUE(Soon([&] { return endless_ == 1; }));  // the second waits for the first
  EXPECT_THAT(Tcp("POST /api/v1/predictions", token_, "model"), HasSubstr("{\"bytes\":5}"));
  EXPECT_THAT(Ask("POST /api/v1/predictions", "model"), HasSubstr("{\"bytes\":5}"));
  // The server stops all the same, and at once.
  const auto begin = std::chrono::steady_clock::now();
  server_->Stop();
  api_.reset();
  EXPECT_EQ(endless_, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(ApiTest, LimitsAreShownWithWhatIsUsed) {
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  EXPECT_THAT(Ask("GET /api/v1/limits"),
              AllOf(StartsWith("HTTP/1.1 200 "),
                    HasSubstr(R"("name":"queued_jobs","what":"jobs that are not over",)"
                              R"("unit":"count","limit":50000,"used":1,"left":49999,)"),
                    HasSubstr(R"("unknown":"guest","unknown_from":"default")"),
                    HasSubstr(R"("name":"log_bytes")"), HasSubstr(R"("used":null,"left":null)")));
  EXPECT_THAT(Tcp("GET /api/v1/limits", token_),
              AllOf(HasSubstr(R"("user":"ann")"), HasSubstr(R"("limit":20000,"used":0)")));
  EXPECT_THAT(Tcp("GET /api/v1/limits?user=root", token_), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Tcp("GET /api/v1/limits"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Ask("GET /api/v1/limits?user=no-such-user-here"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(ApiTest, SubmitsShowsAndActs) {
  const std::string made = Ask("POST /api/v1/jobs", R"({"command":["sleep","5"],"name":"nap"})");
  EXPECT_THAT(made, AllOf(StartsWith("HTTP/1.1 201 "), HasSubstr("Content-Type: application/json"),
                          HasSubstr(R"({"schema":1,"jobs":[{"number":1,"name":"nap")")));
  EXPECT_THAT(Ask("POST /api/v1/jobs", R"({"jobs":[{"command":["a"]},{"command":["b"]}]})"),
              AllOf(HasSubstr("\"number\":2"), HasSubstr("\"number\":3")));
  EXPECT_THAT(Ask("POST /api/v1/jobs", R"({"jobs":[{"command":["a"]},{"comand":["b"]}]})"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("application/problem+json"),
                    HasSubstr("jobs[1]"), HasSubstr("comand")));
  EXPECT_THAT(Ask("POST /api/v1/jobs", "{"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("POST /api/v1/jobs", std::string(100'000, '[')), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(
      Ask("GET /api/v1/jobs?limit=2"),
      AllOf(HasSubstr("\"number\":3"), HasSubstr("\"number\":2"), Not(HasSubstr("\"number\":1,")),
            HasSubstr("\"counts\":{\"waiting\":3}"), HasSubstr("\"next\":2}")));
  EXPECT_THAT(Ask("GET /api/v1/jobs?limit=2&below=2&live=1"),
              AllOf(HasSubstr("\"number\":1,"), HasSubstr("\"next\":null}")));
  EXPECT_THAT(Ask("GET /api/v1/jobs?phase=running,held"), HasSubstr("\"jobs\":[],"));
  EXPECT_THAT(Ask("GET /api/v1/jobs?phase=sleeping"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1"), HasSubstr("{\"schema\":1,\"number\":1,"));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/why"), HasSubstr("\"why\":[\"no GPU is free\""));
  EXPECT_THAT(Ask("GET /api/v1/jobs/99"), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("'99'")));
  EXPECT_THAT(Ask("GET /api/v1/jobs/x"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST /api/v1/jobs/1/cancel"), HasSubstr("\"phase\":\"cancelled\""));
  EXPECT_THAT(Ask("POST /api/v1/jobs/1/cancel"), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(Ask("POST /api/v1/jobs?dry_run=1", R"({"command":["a"]})"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\"forecast\":{\"start_ms\":5,")));
  // What only the store still knows.
  core::JobRecord old;
  old.number = 77;
  old.phase = core::Phase::kFailed;
  store_.jobs.push_back(old);
  EXPECT_THAT(Ask("GET /api/v1/jobs/77"), HasSubstr("\"phase\":\"failed\""));
  EXPECT_THAT(Ask("GET /api/v1/jobs?phase=failed"), HasSubstr("\"number\":77"));
  EXPECT_THAT(Ask("POST /api/v1/jobs/77/hold"), StartsWith("HTTP/1.1 409 "));
}

TEST_F(ApiTest, F18_WhySaysWhoGoesBeforeIt) {
  using control::JobsAhead;
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/why"), HasSubstr("\"ahead\":null"));
  service_.ahead = JobsAhead{
      12, {{"alice", JobsAhead::Why::kUsedLess, 9}, {"root", JobsAhead::Why::kPriority, 3}}};
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/why"),
              AllOf(HasSubstr("\"12 jobs go before it: 9 of alice (used less so far), 3 of root "
                              "(higher priority)\""),
                    HasSubstr("\"ahead\":{\"jobs\":12,\"of\":[{\"user\":\"alice\",\"jobs\":9,"
                              "\"because\":\"used less so far\"},{\"user\":\"root\",\"jobs\":3,"
                              "\"because\":\"higher priority\"}]}")));
}

TEST_F(ApiTest, ASpeedIsToldOfWhoRunsAndOfWhoIsOver) {
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/speed"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\"points\":[],\"neighbours\":[],"),
                    HasSubstr("\"steps_per_second\":null"), HasSubstr("\"prediction\":null")));
  core::SpeedHistory history;
  history.Count({1000, 0}, {3000, 5}, 0);
  history.Look(1000, {7});
  history.Look(2000, {});
  const std::string points =
      "\"points\":[{\"from_ms\":1000,\"to_ms\":3000,\"steps_per_second\":2.5}],"
      "\"neighbours\":[{\"from_ms\":1000,\"to_ms\":2000,\"jobs\":[7]},"
      "{\"from_ms\":2000,\"to_ms\":2000,\"jobs\":[]}],\"steps_per_second\":2.5,";
  service_.speed = history;
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/speed"), HasSubstr(points));
  service_.speed.reset();
  core::JobRecord over;
  over.number = 77;
  over.phase = core::Phase::kFinished;
  over.believed.sources = core::Sources::All(core::Source::kPredicted);
  over.believed.profile.gpu = "H200";
  over.believed.profile.steps_per_second = 3;
  over.believed.pace_low = 2;
  store_.jobs.push_back(over);
  store_.speeds[77] = history;
  EXPECT_THAT(Ask("GET /api/v1/jobs/77/speed"),
              AllOf(HasSubstr(points), HasSubstr("\"prediction\":{\"low\":2,\"middle\":3,"
                                                 "\"high\":null,\"gpu\":\"H200\"}")));
  history.Hear({"loss", 2000, 0.5, 7});
  history.Hear({"acc", 2500, 3, {}});
  store_.speeds[77] = history;
  EXPECT_THAT(Ask("GET /api/v1/jobs/77/speed"),
              HasSubstr("\"metrics\":[{\"name\":\"loss\",\"value\":0.5,\"step\":7,\"time_ms\":2000,"
                        "\"points\":[{\"from_ms\":2000,\"to_ms\":2000,\"value\":0.5}]},"
                        "{\"name\":\"acc\",\"value\":3,\"step\":null,\"time_ms\":2500,"
                        "\"points\":[{\"from_ms\":2500,\"to_ms\":2500,\"value\":3}]}]"));
  EXPECT_THAT(Ask("GET /api/v1/jobs/99/speed"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("GET /api/v1/jobs/x/speed"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(ApiTest, WhyOfAJobThatIsOverSaysHowItEnded) {
  core::JobRecord over;
  over.number = 77;
  over.phase = core::Phase::kFailed;
  over.exit_code = 3;
  over.reason = "an idle GPU, nobody to share with";
  store_.jobs.push_back(over);
  EXPECT_THAT(
      Ask("GET /api/v1/jobs/77/why"),
      AllOf(HasSubstr("\"why\":[\"it failed with exit code 3\"]"), Not(HasSubstr("idle GPU"))));
  EXPECT_THAT(Ask("POST /api/v1/jobs/77/cancel"), HasSubstr("job 77 is over: it failed"));
}

TEST_F(ApiTest, AJobThatWaitsSaysWhenItShouldStart) {
  const std::string known = "\"expected_start_ms\":1700000000005",
                    unknown = "\"expected_start_ms\":null";
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1"), HasSubstr(known));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/why"), HasSubstr(known));
  EXPECT_THAT(Ask("GET /api/v1/jobs"), HasSubstr(known));
  // Nothing is known of the second, and nothing is expected of one that is held.
  Ask("POST /api/v1/jobs", R"({"command":["b"]})");
  EXPECT_THAT(Ask("GET /api/v1/jobs/2"), HasSubstr(unknown));
  EXPECT_THAT(Ask("GET /api/v1/jobs/2/why"), HasSubstr(unknown));
  EXPECT_THAT(Ask("GET /api/v1/jobs"), AllOf(HasSubstr(known), HasSubstr(unknown)));
  Ask("POST /api/v1/jobs/1/hold");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1"), HasSubstr(unknown));
  EXPECT_THAT(Ask("GET /api/v1/jobs"), Not(HasSubstr(known)));
}

TEST_F(ApiTest, OthersSeeButDoNotTouch) {
  Ask("POST /api/v1/jobs", R"({"command":["a"],"environment":{"SECRET":"s3cret"}})");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1"), HasSubstr("s3cret"));
  EXPECT_THAT(Ask("GET /api/v1/jobs"), Not(HasSubstr("s3cret"))) << "lists are short";
  for (const std::string& header : {std::string(), token_}) {
    EXPECT_THAT(Tcp("GET /api/v1/jobs/1", header),
                AllOf(HasSubstr("\"number\":1"), Not(HasSubstr("s3cret"))));
    EXPECT_THAT(Tcp("GET /api/v1/jobs", header),
                AllOf(HasSubstr("\"number\":1"), Not(HasSubstr("s3cret"))));
    const int status = header.empty() ? 401 : 403;
    const std::string refused = fmt::format("HTTP/1.1 {} ", status);
    EXPECT_THAT(Tcp("GET /api/v1/jobs/1/logs", header), StartsWith(refused));
    EXPECT_THAT(Tcp("POST /api/v1/jobs/1/cancel", header), StartsWith(refused));
    EXPECT_THAT(Tcp("POST /api/v1/gpus/0/drain", header), StartsWith(refused));
  }
  EXPECT_THAT(Tcp("POST /api/v1/jobs", "", R"({"command":["a"]})"),
              AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer")));
  if (::getuid() != 0) {
    EXPECT_THAT(Tcp("POST /api/v1/jobs", token_, R"({"command":["a"]})"),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("as root it could")));
  } else {
    EXPECT_THAT(Tcp("POST /api/v1/jobs", token_, R"({"command":["a"]})"),
                HasSubstr("\"user\":\"ann\""));
  }
}

TEST_F(ApiTest, MachineStudiesAndFigures) {
  EXPECT_THAT(Ask("GET /api/v1"), HasSubstr("\"policy\":\"sharewell\""));
  EXPECT_THAT(
      Ask("GET /api/v1/gpus"),
      AllOf(HasSubstr("\"uuid\":\"simulated-0\""), HasSubstr("\"simulated\":true"),
            HasSubstr("\"busy\":0.5,\"memory_used_bytes\":1000000000,\"power_watts\":null")));
  EXPECT_THAT(Ask("POST /api/v1/gpus/0/drain"), HasSubstr("\"drained\":true"));
  EXPECT_THAT(Ask("POST /api/v1/gpus/simulated-0/undrain"), HasSubstr("\"drained\":false"));
  EXPECT_THAT(Ask("POST /api/v1/gpus/9/drain"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("GET /api/v1/nodes"), HasSubstr("\"store_up\":true"));
  EXPECT_THAT(Ask("GET /api/v1/forecast"), HasSubstr("{\"jobs\":[]}"));
  EXPECT_EQ(Ask("POST /api/v1/simulations", R"({"policies":["slot"],"days":2})"),
            Ask("POST /api/v1/whatif", R"({"policies":["slot"],"days":2})"));
  EXPECT_THAT(Ask("POST /api/v1/whatif", R"({"policies":["slot"],"days":2})"), HasSubstr("slot 2"));
  EXPECT_THAT(Ask("POST /api/v1/whatif", R"({"policies":[]})"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("POST /api/v1/predictions?batch=4", std::string(1 << 20, 'm')),
              HasSubstr("{\"bytes\":1048576}"));
  EXPECT_THAT(Ask("POST /api/v1/predictions", "bad"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET /api/v1/profiles"), StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(Ask("GET /healthz"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(Ask("GET /nothing"), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("problem+json")));
  EXPECT_THAT(Ask("GET /metrics"),
              AllOf(HasSubstr("sharewell_jobs{phase=\"waiting\"} 0\n"),
                    HasSubstr("sharewell_jobs_ended_total{phase=\"finished\"} 0\n"),
                    HasSubstr("sharewell_job_wait_seconds_bucket{le=\"+Inf\"} 0\n"),
                    HasSubstr("sharewell_gpu_jobs{gpu=\"0\",UUID=\"simulated-0\"} 0\n"),
                    HasSubstr("sharewell_http_requests_total{code=\"4xx\"} ")));
  EXPECT_THAT(Ask("GET /api/v1/routes"), HasSubstr("[\"POST\",\"/api/v1/jobs/{number}/cancel\"]"));
  service_.view.store_up = false;
  EXPECT_THAT(Ask("GET /healthz"), StartsWith("HTTP/1.1 503 "));
  service_.full = true;
  EXPECT_THAT(Ask("POST /api/v1/jobs", R"({"command":["a"]})"), StartsWith("HTTP/1.1 507 "));
}

TEST_F(ApiTest, WhileTheStoreIsAwayJobsAreTheBoards) {
  Ask("POST /api/v1/jobs", R"({"command":["runs"]})");
  Ask("POST /api/v1/jobs", R"({"command":["over"]})");
  Ask("POST /api/v1/jobs/2/cancel");
  EXPECT_THAT(Ask("GET /api/v1/jobs"), HasSubstr("\"store_problem\":null"));
  store_.away = true;
  EXPECT_THAT(
      Ask("GET /api/v1/jobs"),
      AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\"number\":1,"), HasSubstr("\"number\":2,"),
            HasSubstr("\"store_problem\":\"the database is away\"")));
  EXPECT_THAT(Ask("GET /api/v1/jobs?live=1"),
              AllOf(HasSubstr("\"number\":1,"), HasSubstr("\"store_problem\":null")))
      << "all that live are on the board";
  EXPECT_THAT(Ask("GET /api/v1/jobs/2"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Ask("GET /api/v1/jobs/9"), StartsWith("HTTP/1.1 500 "));
  store_.away = false;
  EXPECT_THAT(Ask("GET /api/v1/jobs"), HasSubstr("\"store_problem\":null"));
}

TEST_F(ApiTest, LogsByOffset) {
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  folder_.Write("out", "0123456789");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs"),
              AllOf(HasSubstr("X-First-Offset: 100"), HasSubstr("X-Next-Offset: 110"),
                    HasSubstr("X-Ended: 0"), testing::EndsWith("\r\n\r\n0123456789")));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?offset=105&most=2"),
              AllOf(HasSubstr("X-Next-Offset: 107"), testing::EndsWith("\r\n\r\n56")));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?offset=-3"), testing::EndsWith("\r\n\r\n789"));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?stream=err"), testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?stream=both"), StartsWith("HTTP/1.1 400 "));
  Ask("POST /api/v1/jobs/1/cancel");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?offset=110"), HasSubstr("X-Ended: 1"));
  logs_gone_ = true;
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs"), StartsWith("HTTP/1.1 200 ")) << "it never ran";
  core::JobRecord ran = *service_.board().Find(1);
  ran.started = 1;
  service_.jobs.Put(ran);
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs"),
              AllOf(StartsWith("HTTP/1.1 410 "), HasSubstr("they went after 30 days")));
  logs_gone_ = false;
  // Whoever owns the folder puts a link there.
  ASSERT_EQ(::symlink(folder_.Path("out").c_str(), folder_.Path("err").c_str()), 0);
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?stream=err"),
              AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("0123456789"))));
  const std::vector<LogPiece> two = {{folder_.Path("out"), 0}, {folder_.Path("out"), 10}};
  EXPECT_EQ(ReadLog(two, 8, 5)->bytes, "89012");
  EXPECT_EQ(ReadLog(two, -100, 5)->bytes, "01234");
  EXPECT_TRUE(ReadLog(two, 1000, 5)->all);
}

TEST_F(ApiTest, MetricsSayWhenAJobThatWaitsShouldStart) {
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  core::JobRecord waits = *service_.board().Find(1);
  waits.phase = core::Phase::kWaiting;
  service_.jobs.Put(waits);
  EXPECT_THAT(Ask("GET /metrics"),
              HasSubstr("sharewell_job_expected_start_timestamp_seconds{job=\"1\"} "
                        "1700000000.005\n"));
}

TEST_F(RemoteLogsApiTest, K11_LogsThatAnotherMachineHas) {
  Ask("POST /api/v1/jobs", R"({"command":["a"]})");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?offset=7&most=8"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("X-Next-Offset: 30"),
                    HasSubstr("X-Ended: 0"), testing::EndsWith("\r\n\r\n1 false 7 8")));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?stream=err"),
              testing::EndsWith("\r\n\r\n1 true 0 65536"));
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs?offset=99"),
              AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("Kubernetes does not answer")));
  EXPECT_THAT(Tcp("GET /api/v1/jobs/1/logs", token_), StartsWith("HTTP/1.1 403 "))
      << "the job is another user's";
  Ask("POST /api/v1/jobs/1/cancel");
  EXPECT_THAT(Ask("GET /api/v1/jobs/1/logs"), HasSubstr("X-Ended: 1"));
}

TEST_F(ApiTest, EventsGoOnWhereTheyBrokeOff) {
  const auto listen = [&](const std::string& query, const std::string& header = "") {
    auto client = std::make_unique<http::TestClient>(socket_);
    client->Send("GET /api/v1/events" + query + " HTTP/1.1\r\n" + header + "\r\n");
    EXPECT_THAT(client->Until("\r\n\r\n"), HasSubstr("text/event-stream"));
    client->Until(": sharewell\n\n");
    return client;
  };
  for (int id = 11; id <= 1400; ++id) {  // 1 to 10 are no longer kept
    store_.events.push_back({id, 5, "job.started", id % 2 + 1, "text\n" + std::to_string(id)});
  }
  for (int id = 1401; id <= 1410; ++id) {  // stored, then told
    store_.events.push_back({id, 5, "job.ended", 2, ""});
    service_.hub.Publish(store_.events.back());
  }
  const auto live = listen("");
  const auto late = listen("?after=3");
  const auto back = listen("?after=3&job=2", "Last-Event-ID: 1405\r\n");
  const auto stranger = listen("?after=999999");
  EXPECT_THAT(late->Until("\n\n"), StartsWith("id: 10\nevent: gap\n"));
  EXPECT_EQ(
      late->Until("\n\n"),
      "id: 11\nevent: job.started\ndata: "
      "{\"id\":11,\"time_ms\":5,\"kind\":\"job.started\",\"job\":2,\"text\":\"text\\n11\"}\n\n");
  for (int id = 12; id <= 1410; ++id) {
    std::string text = late->Until("\n\n");
    while (text.starts_with(":")) text = late->Until("\n\n");  // a comment
    ASSERT_THAT(text, StartsWith(fmt::format("id: {}\n", id)));
  }
  EXPECT_THAT(stranger->Until("\n\n"), HasSubstr("event: gap\n"));
  for (int id = 1406; id <= 1410; ++id) {
    EXPECT_THAT(back->Until("\n\n"), StartsWith(fmt::format("id: {}\n", id)));
  }
  service_.hub.Publish({1411, 6, "job.ended", 1, ""});
  service_.hub.Publish({1412, 6, "job.ended", 2, ""});
  const auto next = [](const http::TestClient& client) {
    for (;;) {
      std::string text = client.Until("\n\n");
      if (!text.starts_with(":")) return text.substr(0, text.find('\n'));
    }
  };
  for (const http::TestClient* all : {live.get(), late.get(), stranger.get()}) {
    EXPECT_EQ(next(*all), "id: 1411");
    EXPECT_EQ(next(*all), "id: 1412");
  }
  EXPECT_EQ(next(*back), "id: 1412") << "of job 2 alone";
  EXPECT_EQ(live->Until(":\n\n"), ":\n\n") << "nothing came, and still something comes";
}

TEST_F(ApiTest, TenThousandJobsAreListedInAFewPages) {
  core::JobRecord record;
  record.user = {"ann", 1000, 1000, false};
  record.asked.command = {"python3", "train.py", "--epochs", "10"};
  record.reason = "no GPU has room for it yet";
  record.asked.environment.assign(40, {"SOME_VARIABLE", "with a value of common length"});
  for (record.number = 1; record.number <= 10'000; ++record.number) service_.jobs.Put(record);
  const auto before = std::chrono::steady_clock::now();
  std::string below;
  int pages = 0;
  std::size_t listed = 0;
  do {
    const std::string page = Tcp("GET /api/v1/jobs?live=1&limit=10000" + below);
    for (std::size_t at = 0; (at = page.find("{\"number\":", at)) != std::string::npos; ++at) {
      ++listed;
    }
    const std::size_t next = page.rfind("\"next\":");
    ASSERT_NE(next, std::string::npos);
    below = "&below=" + page.substr(next + 7, page.rfind('}') - next - 7);
  } while (++pages < 30 && below != "&below=null");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(listed, 10'000U);
  EXPECT_LT(pages, 20);
  EXPECT_LT(took.count(), 20) << "even on a loaded machine, under ThreadSanitizer";
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1e3));
}

}  // namespace
}  // namespace sharewell::api
