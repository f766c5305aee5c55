#include "report/simulation/switch_over.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Page {
  SimulationReport report;
  simulation::SwitchOverResult result;
};

Page Two(bool really) {
  Page page;
  page.report = {"t.csv", "2x1xH200", "2 H200 on 2 nodes", 1, "exact", "exact", {"drawn"}, {}};
  if (really) {
    simulation::Summary past;
    past.policy = "really";
    past.history = true;
    page.report.results.push_back(past);
  }
  for (const char* policy : {"slot", "sharewell"}) {
    simulation::Summary s;
    s.policy = policy;
    s.jobs = s.finished = 3;
    page.report.results.push_back(s);
  }
  page.result.really = really;
  page.result.changes = {{"sharewell", 2, 1, 0, -0.25, 1.4}};
  simulation::UserOutcome ann{"ann", 3, 12.5, {3600, 1800}};
  if (really) ann.jct_mean.insert(ann.jct_mean.begin(), 4000);
  page.result.users = {ann};
  page.result.notes = {"near enough"};
  return page;
}

TEST(SwitchOverText, SaysWhatChangesForWhom) {
  const Page page = Two(true);
  const std::string text = SwitchOverText(page.report, page.result, 300);
  EXPECT_THAT(text,
              HasSubstr("sharewell instead of slot: of 3 jobs, 2 end sooner, 1 later, 0 about "
                        "the same (within"));
  EXPECT_THAT(text, HasSubstr("mean completion time -25.0 %"));
  EXPECT_THAT(text, HasSubstr("takes 1.40x"));
  EXPECT_THAT(text, HasSubstr("-50.0 %")) << "of ann, from slot to sharewell";
  EXPECT_THAT(text, HasSubstr("note: near enough\nnote: drawn\n"));
}

TEST(SwitchOverText, OnePolicyAloneIsComparedWithNobody) {
  Page page = Two(true);
  page.result.changes.clear();
  EXPECT_THAT(SwitchOverText(page.report, page.result), Not(HasSubstr("who gains")));
}

TEST(SwitchOverJson, IsTheDocumentOfSimulateAndMore) {
  for (const bool really : {false, true}) {
    const Page page = Two(really);
    const auto json = nlohmann::json::parse(SwitchOverJson(page.report, page.result));
    EXPECT_EQ(json["schema"], 1);
    EXPECT_EQ(json["results"].size(), really ? 3U : 2U);
    EXPECT_EQ(json["results"][0]["moves"].is_null(), really);
    EXPECT_EQ(json["changes"][0]["jobs_sooner"], 2);
    EXPECT_EQ(json["users"][0]["jct_mean_seconds"]["sharewell"], 1800);
    EXPECT_EQ(json["notes"][0], "near enough");
  }
}

}  // namespace
}  // namespace sharewell::report
