#include "cli/client/server_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/client/server_client.h"
#include "cli/commands/jobs/submit_request.h"
#include "store/job_store.h"

namespace sharewell::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ServerAnswers, AreReadWithUnknownFiguresLeftOut) {
  core::JobRecord job;
  job.number = 17;
  job.asked.command = {"true"};
  const auto answer = JobsFromAnswer("{\"schema\":1,\"jobs\":[" + store::JobToJson(job) +
                                     "],\"counts\":{\"waiting\":3,\"odd\":\"x\"},\"next\":17}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->jobs.at(0).number, 17);
  EXPECT_EQ(answer->next, 17);
  EXPECT_THAT(answer->counts, ElementsAre(Pair("waiting", 3)));

  const auto gpus = GpusFromAnswer(
      R"({"gpus":[{"index":1,"uuid":"simulated-1","model":"H200","memory_bytes":2e9,"busy":null,
          "simulated":true,"jobs":[17,"x"]},5]})");
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->at(0).busy, std::nullopt);
  EXPECT_EQ(gpus->at(0).memory, core::Bytes(2e9));
  EXPECT_THAT(gpus->at(0).jobs, ElementsAre(17));
  EXPECT_TRUE(gpus->at(0).simulated);

  const auto why = WhyFromAnswer(R"({"why":["no GPU has room"],"expected_start_ms":5})");
  ASSERT_TRUE(why);
  EXPECT_THAT(why->sentences, ElementsAre("no GPU has room"));
  EXPECT_EQ(why->expected_start, 5);
  EXPECT_EQ(WhyFromAnswer(R"({"why":[],"expected_start_ms":null})")->expected_start, std::nullopt);

  EXPECT_EQ(EventFromAnswer(R"({"id":3,"kind":"job.started","job":17})")->job, 17);
  EXPECT_EQ(DetailOf(R"({"title":"t","detail":"d"})"), "d");
}

TEST(ServerAnswers, AMachineThatNobodyReadsIsUnknown) {
  const auto told = NodeFromAnswer(
      R"({"nodes":[{"name":"n","machine":{"cpu_busy":0.25,"memory_bytes":8e9,"memory_used_bytes":null}}]})");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->cpu_busy, 0.25);
  EXPECT_EQ(told->memory, core::Bytes(8e9));
  EXPECT_EQ(told->memory_used, std::nullopt);
  const auto cluster = NodeFromAnswer(R"({"nodes":[{"name":"n","machine":null}]})");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->cpu_busy, std::nullopt);
  EXPECT_EQ(cluster->memory, std::nullopt);
}

TEST(ServerAnswers, ASpeedIsReadWithoutWhatIsNoPoint) {
  const auto told = SpeedFromAnswer(
      R"({"points":[{"from_ms":5,"to_ms":7,"steps_per_second":2.5},{"from_ms":"x"},3],
          "prediction":{"low":1,"middle":2,"high":null},
          "metrics":[{"name":"loss","value":0.5,"step":9,"time_ms":8,"points":[
              {"from_ms":5,"to_ms":7,"value":1.5},{"from_ms":8,"to_ms":8,"value":0.5},3]}]})");
  ASSERT_TRUE(told);
  ASSERT_EQ(told->metrics.all().size(), 1U);
  EXPECT_EQ(told->metrics.all()[0].last, (core::ToldMetric{"loss", 8, 0.5, 9}));
  EXPECT_EQ(told->metrics.all()[0].points.points().size(), 2U);
  for (
      const char* bad :
      {R"({"name":"\u001b[2J","value":1,"time_ms":5,"points":[{"from_ms":5,"to_ms":7,"value":1}]})",
       R"({"name":"a","value":1,"points":[{"from_ms":5,"to_ms":7,"value":1}]})",
       R"({"name":"a","value":1,"time_ms":5,"points":[]})", "7"}) {
    const std::string body = R"({"points":[],"metrics":[)" + std::string(bad) + "]}";
    ASSERT_TRUE(SpeedFromAnswer(body)) << bad;
    EXPECT_TRUE(SpeedFromAnswer(body)->metrics.all().empty()) << bad;
  }
  ASSERT_EQ(told->points.size(), 1U);
  EXPECT_EQ(told->points[0].steps_per_second, 2.5);
  EXPECT_EQ(told->low, 1);
  EXPECT_EQ(told->high, std::nullopt);
  EXPECT_EQ(SpeedFromAnswer(R"({"points":[],"prediction":null})")->middle, std::nullopt);
  EXPECT_FALSE(SpeedFromAnswer("{}"));
  EXPECT_FALSE(SpeedFromAnswer("no JSON"));
}

TEST(ServerAnswers, WhatIsNoAnswerIsRefused) {
  for (const char* bad : {"", "[]", "null", "<html>", "{}", R"({"jobs":{}})", R"({"jobs":[1]})",
                          R"({"gpus":1,"nodes":[],"why":3,"policies":"x"})"}) {
    EXPECT_FALSE(JobsFromAnswer(bad)) << bad;
    EXPECT_FALSE(ConsideredFromAnswer(bad)) << bad;
    EXPECT_FALSE(GpusFromAnswer(bad)) << bad;
    EXPECT_FALSE(NodeFromAnswer(bad)) << bad;
    EXPECT_FALSE(WhatIfFromAnswer(bad)) << bad;
    EXPECT_EQ(DetailOf(bad), "") << bad;
  }
}

TEST(ServerAnswers, SavingsWithoutGpuHoursAreUnknownAndNotZero) {
  const auto savings = SavingsFromAnswer(
      R"({"savings":{"really":{"gpu_hours":2},"exclusive":{"gpu_hours":3},"jobs":4}})");
  ASSERT_TRUE(savings);
  EXPECT_EQ(savings->exclusive.gpu_hours, 3);
  EXPECT_EQ(savings->really.energy_kwh, std::nullopt);
  for (const char* bad :
       {"{}", R"({"savings":{}})", R"({"savings":{"really":{"gpu_hours":2},"exclusive":{}}})",
        R"({"savings":{"really":{"gpu_hours":null},"exclusive":{"gpu_hours":3}}})"}) {
    EXPECT_FALSE(SavingsFromAnswer(bad)) << bad;
  }
}

TEST(ServerAnswers, SubmissionsAreSentAsOneOrMany) {
  core::Submission one;
  one.command = {"true"};
  EXPECT_EQ(SubmissionsJson(std::vector{one}), store::SubmissionToJson(one));
  EXPECT_THAT(SubmissionsJson(std::vector{one, one}), HasSubstr("},{"));
  EXPECT_EQ(QueryText("a b&c/\xff~"), "a%20b%26c%2F%FF~");
}

TEST(SharedEnvironment, IsAList) {
  const char* const all[] = {"PATH=/bin", "AWS_SECRET_KEY=x", "LC_ALL=C",
                             "odd",       "CONDA_PREFIX=/c",  nullptr};
  EXPECT_THAT(SharedEnvironment(all),
              ElementsAre(Pair("CONDA_PREFIX", "/c"), Pair("LC_ALL", "C"), Pair("PATH", "/bin")));
}

}  // namespace
}  // namespace sharewell::cli
