// Jobs and submissions as JSON, and what is refused.
#include "store/jobs/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "store/job_store.h"
#include "testing/job_records.h"
#include "testing/sanitized.h"

namespace sharewell::store {
namespace {

using sharewell::testing::FullJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string ErrorOf(const std::string& text) {
  const auto read = SubmissionFromJson(text);
  if (read) return "read";
  EXPECT_EQ(read.error().kind, core::ErrorKind::kUsage);
  return read.error().message;
}
// A submission of `true` with one more key.
std::string ErrorWith(const std::string& key_and_value) {
  return ErrorOf(R"({"command":["true"],)" + key_and_value + "}");
}

TEST(JobJson, ARecordComesBackAsItWas) {
  const core::JobRecord full = FullJob(17);
  const std::string text = JobToJson(full);
  const auto again = JobFromJson(text);
  ASSERT_TRUE(again) << again.error().message;
  // Names that are no UTF-8 come last.
  auto expected = full;
  std::swap(expected.asked.environment[2], expected.asked.environment[3]);
  EXPECT_EQ(*again, expected);
  EXPECT_EQ(JobToJson(*again), text);

  core::JobRecord bare;
  bare.asked.command = {"/opt/python3", "/x/train.py"};
  const auto bare_again = JobFromJson(JobToJson(bare));
  ASSERT_TRUE(bare_again) << bare_again.error().message;
  EXPECT_EQ(bare_again->asked.name, "python3 train.py");  // what people see is what is stored
  bare.asked.name = "python3 train.py";
  EXPECT_EQ(*bare_again, bare);
}

TEST(JobJson, U2_WhatAnOlderVersionComparedWithAPredictionIsForgotten) {
  Json old = Json::parse(JobToJson(FullJob(17)));
  for (const char* added : {"steps_per_second_alone", "seen_alone_seconds"}) old.erase(added);
  EXPECT_TRUE(JobFromJson(old.dump())->slowdown) << "it says that its rate was observed";
  old["needs"].erase("pace_source");
  old["needs"]["source"] = "observed";
  const auto read = JobFromJson(old.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->believed.sources.pace, core::Source::kPredicted) << "nobody says otherwise";
  EXPECT_FALSE(read->slowdown);
  EXPECT_FALSE(read->alone_time);
  old["steps"] = nullptr;  // a silent job was judged by its SMs, which were observed
  EXPECT_TRUE(JobFromJson(old.dump())->slowdown);
}

TEST(JobJson, AsStoredItHasNoNullsAndComesBackTheSame) {
  core::JobRecord bare;
  bare.asked.command = {"true"};
  for (const core::JobRecord& record : {FullJob(17), bare}) {
    const auto whole = JobFromJson(JobToJson(record));
    const auto stored = JobFromJson(StoredJob(record));
    ASSERT_TRUE(whole) << whole.error().message;
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(*stored, *whole);
  }
  const std::string text = StoredJob(bare);
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
  EXPECT_EQ(text.find("[]"), std::string::npos) << text;
  EXPECT_LT(2 * text.size(), JobToJson(bare).size()) << "tens of thousands are read at a start";
}

// The keys of docs/api.md: clients stand on them.
TEST(JobJson, IsTheApisJob) {
  const Json job = Json::parse(JobToJson(FullJob(17)));
  EXPECT_EQ(job["number"], 17);
  EXPECT_EQ(job["phase"], "running");
  EXPECT_EQ(job["gpus_asked"], 2);
  EXPECT_EQ(job["gpus"][1]["index"], 3);
  EXPECT_EQ(job["needs"]["source"], "observed");
  EXPECT_EQ(job["needs"]["gpu_memory_bytes"], 9.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(job["needs_given"]["optimizer"], "adam");
  EXPECT_EQ(job["command"][4]["bytes"], "//4gcmF3");
  EXPECT_EQ(job["environment"]["PATH"], "/bin");
  EXPECT_EQ(job["environment_bytes"][0][0], "Tv8=");
  const Json bare = Json::parse(JobToJson({}));
  EXPECT_EQ(bare["needs"]["busy"], nullptr);
  for (const char* key :
       {"cores_asked", "gpu_memory_asked_bytes", "memory_asked_bytes", "max_slowdown",
        "time_limit_seconds", "image", "umask", "profile", "array", "array_at_once", "needs_given",
        "started_ms", "resumed_ms", "ended_ms", "expected_start_ms", "exit_code", "steps",
        "steps_per_second", "slowdown"}) {
    EXPECT_TRUE(bare.contains(key) && bare[key].is_null()) << key;
  }
  std::string others;
  json::Writer writer(others);
  WriteJob(writer, FullJob(17), /*with_environment=*/false);
  EXPECT_EQ(Json::parse(others)["environment"], Json::object());
  EXPECT_FALSE(Json::parse(others).contains("environment_bytes"));

  core::JobRecord broken;
  broken.asked.name = "a\xff";
  broken.slowdown = std::numeric_limits<double>::infinity();
  const Json shown = Json::parse(JobToJson(broken));
  EXPECT_EQ(shown["name"], "a\xef\xbf\xbd");
  EXPECT_EQ(shown["slowdown"], nullptr);
}

// Of an older server or client one source stands for all figures.
TEST(JobJson, OneSourceStandsForAll) {
  const auto read = SubmissionFromJson(
      R"({"command":["true"],"needs":{"source":"measured","cores_source":"told"}})");
  ASSERT_TRUE(read) << read.error().message;
  core::Sources expected = core::Sources::All(core::Source::kObserved);
  expected.cores = core::Source::kTold;
  expected.pace = core::Source::kPredicted;  // nobody says that it was observed
  EXPECT_EQ(read->needs->sources, expected);
}

TEST(JobJson, ASubmissionComesBackAsItWas) {
  core::Submission full = FullJob(1).asked;
  std::swap(full.environment[2], full.environment[3]);
  full.gpus = 1;
  full.exclusive = false;  // for a share of the SMs
  const auto again = SubmissionFromJson(SubmissionToJson(full));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, full);
  const auto least = SubmissionFromJson(R"({"command":["true"],"cores":null,"gpus":null})");
  ASSERT_TRUE(least) << least.error().message;
  core::Submission expected;
  expected.command = {"true"};
  EXPECT_EQ(*least, expected);
}

TEST(JobJson, WhatIsWrongIsNamed) {
  EXPECT_EQ(ErrorWith(R"("gpus":-1)"), "gpus: -1 is not from 0 to 64");
  EXPECT_EQ(ErrorWith(R"("gpus":18446744073709551615)"),
            "gpus: 18446744073709551615 is not from 0 to 64");
  EXPECT_EQ(ErrorWith(R"("gpus":"two")"), "gpus: 'two' is no whole number");
  EXPECT_EQ(ErrorWith(R"("gpu":1)"), "'gpu' is no key that is known here; did you mean 'gpus'?");
  EXPECT_EQ(ErrorWith(R"("needs":{"bussy":1})"),
            "needs.'bussy' is no key that is known here; did you mean 'busy'?");
  EXPECT_EQ(ErrorWith(R"("needs":{"busy":1.5})"), "needs.busy: 1.5 is not from 0 to 1");
  EXPECT_EQ(ErrorWith(R"("needs":[])"), "needs: a list is no object");
  EXPECT_EQ(ErrorOf(R"({"comand":["true"]})"),
            "'comand' is no key that is known here; did you mean 'command'?");
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("command: is missing"));
  EXPECT_THAT(ErrorOf(R"({"command":[""]})"), HasSubstr("command: is missing"));
  EXPECT_EQ(ErrorOf("[]"), "a list is no object");
  EXPECT_THAT(ErrorOf("{"), HasSubstr("this is no JSON"));
  EXPECT_THAT(ErrorOf("{\"command\":[\"\xff\"]}"), HasSubstr("this is no JSON"));
  EXPECT_THAT(ErrorOf(R"({"command":["a\u0000b"]})"), HasSubstr("command: 'a?b' has a NUL"));
  EXPECT_THAT(ErrorOf(R"({"command":[{"bytes":"!"}]})"), HasSubstr("neither text nor"));
  EXPECT_THAT(ErrorOf(R"({"command":"true"})"), HasSubstr("command: 'true' is no list"));
  EXPECT_EQ(ErrorWith(R"("name":"a\nb")"), "name: 'a?b' has a control character in it");
  EXPECT_THAT(ErrorWith(R"("name":")" + std::string(201, 'x') + '"'), HasSubstr("200 is the most"));
  EXPECT_THAT(ErrorWith(R"("folder":"here")"), HasSubstr("folder: 'here' is no absolute path"));
  EXPECT_THAT(ErrorWith(R"("environment":{"A=B":"x"})"), HasSubstr("'A=B' has a '='"));
  EXPECT_THAT(ErrorWith(R"("environment":{"":"x"})"), HasSubstr("has no name"));
  EXPECT_THAT(ErrorWith(R"("environment":[])"), HasSubstr("environment: is no object"));
  EXPECT_THAT(ErrorWith(R"("environment_bytes":[["QQ==","QQ=="]])"), HasSubstr("no UTF-8"));
  EXPECT_EQ(ErrorWith(R"("max_slowdown":0.5)"), "max_slowdown: 0.5 is not from 1 to 100");
  EXPECT_EQ(ErrorWith(R"("sm_share":0)"), "sm_share: 0 is not from 0.01 to 1");
  EXPECT_EQ(ErrorWith(R"("sm_share":60)"), "sm_share: 60 is not from 0.01 to 1");
  EXPECT_EQ(ErrorWith(R"("sm_share":1)"), "read");
  for (const char* other : {R"("gpus":2)", R"("gpus":0)", R"("exclusive":true)"}) {
    EXPECT_THAT(ErrorWith(R"("sm_share":0.5,)" + std::string(other)),
                HasSubstr("sm_share: is for a job that may share its one GPU"));
  }
  EXPECT_EQ(ErrorWith(R"("cores":0)"), "cores: 0 is not from 0.01 to 4096");
  EXPECT_EQ(ErrorWith(R"("time_limit_seconds":1e400)"), ErrorOf(R"({"command":["true"],)"
                                                                R"("time_limit_seconds":1e400})"));
  EXPECT_EQ(ErrorWith(R"("after":[0])"), "after: 0 is not from 1 to 9223372036854775807");
  EXPECT_EQ(ErrorWith(R"("held":1)"), "held: 1 is neither true nor false");
  for (const char* mask : {"18", "\"\"", "\"01000\"", "\"1000\"", "\"-1\"", "\"08\"", "\" 22\""}) {
    EXPECT_THAT(ErrorWith(std::string("\"umask\":") + mask),
                HasSubstr("umask: is no text of octal"))
        << mask;
  }
  EXPECT_EQ(ErrorWith(R"("umask":"0777")"), "read");
  EXPECT_THAT(ErrorOf(std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested deeper than 16 levels"));
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += fmt::format("{}\"k{}\":\"\"", i == 0 ? "" : ",", i);
  EXPECT_THAT(ErrorWith("\"environment\":{" + many + "}"), HasSubstr("has 20000 variables"));
  const std::string word = "\"" + std::string(1'000'000, 'x') + "\",";
  EXPECT_EQ(ErrorOf(R"({"command":[)" + word + word + word + R"("x"]})"), "read");
  EXPECT_THAT(ErrorOf(R"({"command":[)" + word + word + word + word + word + R"("x"]})"),
              HasSubstr("command: has 5000007 bytes in all, and 4194304 are the most"));
}

TEST(JobJson, ANewerProgramsRecordIsReadAndABentOneIsSaid) {
  const auto newer = JobFromJson(R"({"number":3,"phase":"failed","colour":[{"x":1}],"gpus":null})");
  ASSERT_TRUE(newer) << newer.error().message;
  EXPECT_EQ(newer->number, 3);
  EXPECT_EQ(newer->phase, core::Phase::kFailed);
  EXPECT_EQ(newer->sm_share, 1) << "so does an older one's, without shares";
  EXPECT_THAT(JobFromJson(R"({"phase":"asleep"})").error().message, HasSubstr("phase: 'asleep'"));
  EXPECT_THAT(JobFromJson(R"({"gpus":[{"index":"x"}]})").error().message,
              HasSubstr("gpus.index: 'x' is no whole number"));
  EXPECT_FALSE(JobFromJson("null"));
}

TEST(JobJson, TenThousandJobsAreWrittenInNoTime) {
  const core::JobRecord job = FullJob(17);
  std::string out;
  json::Writer writer(out);
  const std::clock_t begin = std::clock();  // CPU time: other tests run beside this one
  writer.List([&] {
    for (int i = 0; i < 10'000; ++i) WriteJob(writer, job, false);
  });
  const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_GT(out.size(), 10'000'000u);
  EXPECT_LT(took, fixtures::kSanitized ? 20 : 1);  // 0.04 s measured
}

}  // namespace
}  // namespace sharewell::store
