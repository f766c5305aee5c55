#include "research/pages/papers_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html/test_html.h"

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Experiment OnePaper(const std::string& text) {
  Experiment out;
  out.name = "yeung";
  out.title = "co-location " + text;
  out.assumptions = {"12 GPUs " + text};
  out.rows = {{"makespan_vs_slot", -0.335, -0.534, "ratio", "over 20 seeds " + text},
              {"not_measured", {}, {}, "s", ""}};
  out.items = {{"Table 4", "the makespan " + text, PaperItemState::kShown, "It is shorter.",
                "sharewell-lab reproduce yeung"}};
  out.grids = {{"Table 4", "makespan, h", {"", "slot", text}, {{"theirs", "1.9", "1.2"}}}};
  return out;
}

TEST(PapersReport, HasEveryItemGridAndFigureOfEveryPaper) {
  const std::string page = PapersPage({OnePaper("of jobs"), OnePaper("again")}, "made");
  for (const char* text : {"co-location of jobs", "co-location again", "12 GPUs of jobs", "Table 4",
                           "the makespan of jobs", "shown", "It is shorter.", "makespan, h", "1.9",
                           "-33.50 %", "-53.40 %", "over 20 seeds of jobs", "not_measured"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(report::testing::HtmlCheck(page).problems(), IsEmpty());
  EXPECT_THAT(page,
              HasSubstr("<p class=\"r\">Of 2 tables and figures in 2 papers, 2 are shown beside "
                        "ours, 0 in part, and 0 are not reproduced.</p>"));
}

TEST(PapersReport, TextStaysText) {
  for (const std::string& payload : report::testing::Payloads()) {
    EXPECT_THAT(report::testing::HtmlCheck(PapersPage({OnePaper(payload)}, payload)).problems(),
                IsEmpty())
        << payload.substr(0, 60);
  }
}

}  // namespace
}  // namespace sharewell::research
