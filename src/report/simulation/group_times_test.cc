#include "report/simulation/group_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/simulation/simulation_json.h"
#include "report/simulation/simulation_table.h"

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

simulation::Summary OfSeed(double wait) {
  simulation::Summary s;
  s.policy = "slot";
  s.jobs = 3;
  s.jct.mean = wait + 60;
  s.by_size = {{"1", 2, wait, wait, wait + 60, wait + 60}, {"9+", 1, 600, 600, 660, 660}};
  for (int u = 0; u < 8; ++u) {
    s.by_user.push_back({"user" + std::to_string(u), 1, 80.0 - u, 80.0 - u, 100, 100});
  }
  return s;
}

TEST(GroupTimesText, SizesAreRowsAndUsersTheEndsOfTheList) {
  SimulationReport report;
  report.results = {OfSeed(120)};
  const std::string text = SimulationTable(report, 100);
  EXPECT_THAT(text, HasSubstr("\njobs, 1 GPU "));
  EXPECT_THAT(text, HasSubstr("\njobs, more than 8 GPUs "));
  EXPECT_THAT(text, Not(HasSubstr("2-4 GPUs")));
  EXPECT_THAT(text, HasSubstr("wait, 99th percentile"));
  EXPECT_THAT(text, HasSubstr("users who wait longest and shortest under slot"));
  for (const char* shown : {"user0", "user2", "user5", "user7"})
    EXPECT_THAT(text, HasSubstr(shown));
  EXPECT_THAT(text, Not(HasSubstr("user3")));
}

TEST(GroupTimesText, SeedsGiveMeansAndSpreads) {
  SimulationReport report;
  report.results = {OfSeed(60)};
  report.seeds = {{1, {OfSeed(60)}}, {2, {OfSeed(120)}}, {3, {OfSeed(180)}}};
  const std::string text = SimulationTable(report, 100);
  EXPECT_THAT(text, HasSubstr("seeds 1 to 3, mean ± standard deviation"));
  EXPECT_THAT(text, HasSubstr("2m 00s ± 1m 00s"));
  const auto json = nlohmann::json::parse(SimulationJson(report));
  EXPECT_EQ(json["seeds"], (nlohmann::json{1, 2, 3}));
  const auto& size = json["spreads"][0]["by_size"][0];
  EXPECT_EQ(size["size"], "1");
  EXPECT_EQ(size["wait_mean_seconds"]["mean"], 120);
  EXPECT_EQ(size["wait_mean_seconds"]["stddev"], 60);
  EXPECT_EQ(size["wait_mean_seconds"]["values"], (nlohmann::json{60, 120, 180}));
  EXPECT_EQ(json["spreads"][0]["jct_mean_seconds"]["max"], 240);
  EXPECT_TRUE(json["spreads"][0]["makespan_seconds"].is_null());
}

TEST(GroupTimesJson, AllUsersAreListed) {
  SimulationReport report;
  report.results = {OfSeed(120)};
  const auto json = nlohmann::json::parse(SimulationJson(report));
  const auto& result = json["results"][0];
  EXPECT_EQ(result["by_user"].size(), 8U);
  EXPECT_EQ(result["by_user"][0]["user"], "user0");
  EXPECT_EQ(result["by_size"][1]["size"], "9+");
  EXPECT_EQ(result["by_size"][1]["wait_p99_seconds"], 600);
  EXPECT_FALSE(json.contains("seeds"));
}

}  // namespace
}  // namespace sharewell::report
