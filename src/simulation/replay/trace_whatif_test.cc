// A trace under other policies, with what the dashboard shows of it.
#include "simulation/replay/trace_whatif.h"

#include <gmock/gmock.h>

#include "catalogue/builtin_measurements.h"
#include "catalogue/gpu_catalogue.h"
#include "trace/reader.h"

namespace sharewell::simulation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Scenario ScenarioOf(const std::string& csv) {
  const auto trace = trace::ReadTraceText(csv, "jobs.csv");
  EXPECT_TRUE(trace) << trace.error().message;
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  core::Node node;
  node.name = "n1";
  node.model = core::GpuModelId(0);
  node.gpus = 1;
  auto scenario =
      BuildScenario(*trace, "jobs.csv", core::Cluster({*catalogue.Find("H200")}, {node}),
                    catalogue::BuiltinMeasurements(), catalogue, {});
  EXPECT_TRUE(scenario) << scenario.error().message;
  return std::move(*scenario);
}

TEST(TraceWhatIf, TellsDistributionsUsersAndWhatReallyHappened) {
  const Scenario scenario = ScenarioOf(
      "id,user,submit_seconds,duration_seconds,gpus,waited_seconds\n"
      "a,ann,0,100,1,0\n<b>,bo,0,100,1,100\nc,ann,0,50,1,200\n");
  const std::string policies[] = {"slot", "sharewell"};
  const auto result = TraceWhatIf(scenario, policies, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->jobs, 3U);
  ASSERT_EQ(result->policies.size(), 2U);
  EXPECT_EQ(result->policies[0].name, "slot");
  EXPECT_EQ(result->policies[0].jct_curve.size(), 3U);
  ASSERT_TRUE(result->really);
  EXPECT_THAT(result->really->queueing_curve, ElementsAre(0, 100, 200));
  EXPECT_THAT(result->really->jct_curve, ElementsAre(100, 200, 250));
  ASSERT_EQ(result->changes.size(), 1U);
  ASSERT_EQ(result->users.size(), 2U);
  EXPECT_EQ(result->users[0].user, "ann");
  ASSERT_EQ(result->users[0].jct_mean.size(), 3U);
  EXPECT_DOUBLE_EQ(result->users[0].jct_mean[2].value_or(0), 175) << "what happened stands last";
}

TEST(TraceWhatIf, RefusesAPolicyThatIsNone) {
  const Scenario scenario =
      ScenarioOf("id,user,submit_seconds,duration_seconds,gpus\na,ann,0,100,1\n");
  const std::string unknown[] = {"slot", "sharewel"};
  EXPECT_THAT(TraceWhatIf(scenario, unknown, {}).error().message, HasSubstr("sharewell"));
  EXPECT_THAT(TraceWhatIf(scenario, {}, {}).error().message, HasSubstr("no policy"));
  const std::string one[] = {"slot"};
  const auto result = TraceWhatIf(scenario, one, {});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->really) << "the trace does not tell it";
  EXPECT_EQ(result->users[0].jct_mean.size(), 2U);
}

}  // namespace
}  // namespace sharewell::simulation
