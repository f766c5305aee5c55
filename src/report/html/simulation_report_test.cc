#include "report/html/simulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html/simulation_gantt.h"
#include "report/html/test_html.h"

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

simulation::PolicyResult PolicyNamed(const std::string& policy, const std::string& text,
                                     double wait) {
  simulation::PolicyResult result;
  result.summary.policy = policy;
  result.summary.jobs = result.summary.finished = 2;
  result.summary.jct.mean = 100 + wait;
  result.jobs = {
      {text + "a", "ann", text, 1, 0, 0, 100, "finished", 100, 0, 100, 1, "H200"},
      {text + "b", "bo", text, 1, 0, wait, wait + 100, "finished", 100, wait, wait + 100, {}, ""},
      {text + "c", text, text, 8, 0, {}, {}, "infeasible", {}, {}, {}, {}, ""}};
  result.decisions = {{0, text + "a", "start", {"n1:0"}, text},
                      {0, text + "b", "wait", {}, text},
                      {wait, text + "b", "start", {"n1:0", "n1:10"}, text}};
  return result;
}

TEST(SimulationPage, SaysWhoGainsAndWhoLoses) {
  simulation::SimulationResults results;
  results.trace = "day.csv";
  results.policies = {PolicyNamed("slot", "", 100), PolicyNamed("pack", "", 50)};
  const std::string html = SimulationPage(results, "made now");
  EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty());
  EXPECT_THAT(html, HasSubstr("Simulation of day.csv"));
  // bo completes in 150 s instead of 200 s; ann's job is the same.
  EXPECT_THAT(html, HasSubstr("<td>bo</td><td class=\"n\">1</td>"));
  EXPECT_THAT(html, HasSubstr(">75.0 %</td>"));
  EXPECT_THAT(html, HasSubstr(">100.0 %</td>"));
  EXPECT_THAT(html, HasSubstr("download=\"completion-time.csv\""));
  EXPECT_THAT(html, HasSubstr("download=\"slowdown.csv\""));
  EXPECT_THAT(html,
              HasSubstr("pack instead of slot: 1 job sooner, 0 later, 1 about the same (within "
                        "5 %); mean completion time -16.7 %."));
  EXPECT_THAT(html, HasSubstr("<td>gains</td><td>b</td><td>bo</td>"));
  EXPECT_THAT(html, HasSubstr(">-25 %</td>"));
  EXPECT_THAT(html, HasSubstr("download=\"gpus-pack.csv\""));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">seed</th><td>unknown</td>"));
}

TEST(SimulationPage, DoesWithoutTheJobs) {
  simulation::SimulationResults results;
  results.policies = {PolicyNamed("optimal", "", 1)};
  results.policies[0].jobs.clear();
  results.policies[0].decisions.clear();
  const std::string html = SimulationPage(results, "");
  EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty());
  EXPECT_THAT(html, HasSubstr("Unknown: the folder has no jobs-POLICY.csv"));
}

TEST(SimulationPage, KeepsWhatComesFromOutsideText) {
  for (const std::string& bad : testing::Payloads()) {
    simulation::SimulationResults results;
    results.trace = results.cluster = results.belief = results.durations = bad;
    results.notes = {bad};
    results.policies = {PolicyNamed(bad, bad, 100), PolicyNamed("x", bad, 1)};
    for (auto& policy : results.policies) policy.decisions[0].gpus = {bad};
    const std::string html = SimulationPage(results, bad);
    EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty()) << bad.substr(0, 60);
    EXPECT_THAT(html, Not(HasSubstr("<script")));
  }
}

TEST(SimulationGantt, EndsAStayWhereTheJobIsMoved) {
  simulation::PolicyResult policy = PolicyNamed("p", "", 20);
  policy.decisions.push_back({60, "a", "move", {"n1:2"}, ""});
  const auto gantt = SimulationGantt(policy);
  ASSERT_TRUE(gantt);
  ASSERT_EQ(gantt->rows.size(), 3U);
  EXPECT_EQ(gantt->rows[1].name, "n1:2");
  EXPECT_EQ(gantt->rows[2].name, "n1:10") << "by number, not by letter";
  EXPECT_DOUBLE_EQ(gantt->rows[0].spans[0].to, 1) << "a minute";
  EXPECT_EQ(gantt->keys.size(), 2U);
  policy.decisions.clear();
  EXPECT_FALSE(SimulationGantt(policy));
}

}  // namespace
}  // namespace sharewell::report
