#include "report/simulation/project_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/simulation/simulation_json.h"
#include "report/simulation/simulation_table.h"

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

simulation::Summary WithProjects(double hours) {
  simulation::Summary s;
  s.policy = "slot";
  s.jobs = 3;
  s.by_project = {{{"default", 0, {}, {}, {}, {}}, 0.25, 0},
                  {{"vision", 3, 90, 90, 100, 100}, 0.75, hours}};
  return s;
}

TEST(ProjectTimesText, EachProjectIsARow) {
  SimulationReport report;
  report.results = {WithProjects(12.34)};
  const std::string text = SimulationTable(report, 100);
  EXPECT_THAT(text, HasSubstr("slot, GPU hours"));
  EXPECT_THAT(text, HasSubstr("vision    75 %"));
  EXPECT_THAT(text, HasSubstr("12.3"));
  EXPECT_THAT(text, HasSubstr("1m 30s"));
  EXPECT_THAT(text, HasSubstr("default   25 %"));
  report.results.front().by_project.clear();
  EXPECT_THAT(SimulationTable(report, 100), Not(HasSubstr("project")));
}

TEST(ProjectTimesText, OfSeveralSeedsMeansAndSpreads) {
  SimulationReport report;
  report.results = {WithProjects(10)};
  report.seeds = {{1, {WithProjects(10)}}, {2, {WithProjects(12)}}};
  EXPECT_THAT(SimulationTable(report, 120), HasSubstr("11.0 ± 1.4"));
}

TEST(ProjectTimesText, JsonHasThemWhereThereAreAny) {
  SimulationReport report;
  report.results = {WithProjects(10)};
  auto told = nlohmann::json::parse(SimulationJson(report));
  const auto& projects = told["results"][0]["by_project"];
  ASSERT_EQ(projects.size(), 2U);
  EXPECT_EQ(projects[1]["project"], "vision");
  EXPECT_EQ(projects[1]["share"], 0.75);
  EXPECT_EQ(projects[1]["gpu_hours"], 10);
  EXPECT_EQ(projects[1]["wait_mean_seconds"], 90);
  EXPECT_TRUE(projects[0]["wait_mean_seconds"].is_null());
  report.results.front().by_project.clear();
  told = nlohmann::json::parse(SimulationJson(report));
  EXPECT_FALSE(told["results"][0].contains("by_project"));
}

}  // namespace
}  // namespace sharewell::report
