#include "simulation/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::simulation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SimulationResults, ReadsWhatSimulateWrote) {
  const auto results = ReadSimulationSummary(
      R"({"schema":1,"trace":"day.csv","cluster":"c","seed":7,"belief":"exact","durations":"unknown",
          "notes":["n"],"results":[{"policy":"slot","jobs":3,"jobs_finished":2,"jct_mean_seconds":12.5,
          "queue_p95_seconds":null,"oom_count":1,"gpu_busy_mean":"?"}]})",
      "summary.json");
  ASSERT_TRUE(results);
  EXPECT_EQ(results->trace, "day.csv");
  EXPECT_EQ(results->seed, 7U);
  EXPECT_THAT(results->notes, ElementsAre("n"));
  const Summary& slot = results->policies.at(0).summary;
  EXPECT_EQ(slot.finished, 2U);
  EXPECT_EQ(slot.jct.mean, 12.5);
  EXPECT_FALSE(slot.queueing.p95) << "null is unknown";
  EXPECT_FALSE(slot.busy) << "of the wrong kind is unknown";
  EXPECT_FALSE(slot.history);
}

TEST(SimulationResults, RefusesWhatIsNoSummary) {
  for (const char* text : {"", "[]", "{}", "{\"results\":[]}", "{\"results\":[1]}",
                           "{\"results\":[{\"policy\":\"\"}]}", "{\"results\":{}}", "\xff"}) {
    const auto results = ReadSimulationSummary(text, "x/summary.json");
    ASSERT_FALSE(results) << text;
    EXPECT_THAT(results.error().message, HasSubstr("not the summary of a simulation"));
  }
}

TEST(SimulatedJobs, ReadsUnknownAsAbsent) {
  const auto jobs = ReadSimulatedJobs(
      "id,user,gpus,submit_seconds,first_start_seconds,finish_seconds,end,jct_seconds\n"
      "a,ann,1,0,5,10,finished,10\nb,bo,8,1,,,infeasible,\n",
      "jobs.csv");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].jct, 10);
  EXPECT_FALSE((*jobs)[1].start);
  EXPECT_FALSE((*jobs)[1].slowdown);
  const auto bad = ReadSimulatedJobs(
      "id,user,gpus,submit_seconds,first_start_seconds,finish_seconds,end\na,b,-1,0,,,x\n",
      "jobs.csv");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("jobs.csv: line 2, column gpus"));
}

TEST(SimulatedDecisions, AreReadInOrderOfTime) {
  const auto decisions = ReadSimulatedDecisions(
      "time_seconds,job,what,gpus,reason\n9,b,start,n1:0 n1:1,\"x, y\"\n3,a,wait,,no room\n",
      "d.csv");
  ASSERT_TRUE(decisions);
  EXPECT_EQ((*decisions)[0].job, "a");
  EXPECT_THAT((*decisions)[1].gpus, ElementsAre("n1:0", "n1:1"));
}

}  // namespace
}  // namespace sharewell::simulation
