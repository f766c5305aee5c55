#include "research/pages/reproduce_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;

Experiment Paper() {
  Experiment out;
  out.name = "yeung";
  out.rows = {{"makespan", -0.335, -0.5337, "ratio", "a|b"}, {"slowdown", {}, 1.155, "times", ""}};
  out.items = {{"Table 1", "the makespan", PaperItemState::kShown, "Ours.", "sharewell gpus"},
               {"Figure 1", "a drawing", PaperItemState::kNoFigures, "None.", ""},
               {"Section 2", "told", PaperItemState::kNot, "No.", ""}};
  out.grids = {{"Table 1", "makespans", {"", "theirs", "ours"}, {{"slot", "1", "2"}}}};
  return out;
}

constexpr const char* kGrid = "{{grid yeung Table 1}}\n";

TEST(ExperimentsPage, FillsItsPlaces) {
  const auto page = ExperimentsPage(
      {Paper()}, std::string("{{counts}}\n\n{{checklist yeung}}\n{{figures yeung}}\n") + kGrid +
                     "It is {{yeung.slowdown}} and {{yeung.makespan}}.\n");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(*page,
            "Of the 2 tables and figures of the five papers, 1 are shown beside ours, 0 partly, 0 "
            "are not reproduced, and 1 have no\nresult to reproduce (drawings, lists of "
            "machines).\n\n"
            "| in the paper | what it shows | here | ours, or why not | command |\n"
            "|---|---|---|---|---|\n"
            "| Table 1 | the makespan | **shown** | Ours. | `sharewell gpus` |\n"
            "| Section 2 | told | **not reproduced** | No. |  |\n"
            "| row | the paper | ours | note |\n"
            "|---|---|---|---|\n"
            "| `makespan` | -33.50 % | -53.37 % | a\\|b |\n"
            "**Table 1**: makespans.\n\n"
            "|  | theirs | ours |\n"
            "|---|---|---|\n"
            "| slot | 1 | 2 |\n"
            "It is 1.16 and -53.4 %.\n");
}

TEST(ExperimentsPage, NeighboursWithOneAnswerShareALine) {
  Experiment paper = Paper();
  const auto partly = PaperItemState::kPartly;
  paper.items = {{"Figure 8", "clock, IC", partly, "A chart.", "sharewell gpus"},
                 {"Figure 9", "the same, OD", partly, "A chart.", "sharewell gpus"},
                 {"Figure 10", "the same, RM", partly, "A chart.", "sharewell gpus"},
                 {"Figure 11", "power", partly, "Another.", "sharewell gpus"}};
  const auto page = ExperimentsPage({paper}, std::string("{{checklist yeung}}\n") + kGrid);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, HasSubstr("| Figure 8 to 10 | clock, IC; the same, OD; the same, RM | "
                               "**partly** | A chart. | `sharewell gpus` |\n"
                               "| Figure 11 | power | **partly** | Another. |"));
}

TEST(ExperimentsPage, ShowsTheRowsThatAreAskedFor) {
  const auto page = ExperimentsPage(
      {Paper()}, std::string("{{figures yeung jct,make}}{{figures yeung jct}}\n") + kGrid);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, ::testing::StartsWith("| row | the paper | ours | note |\n|---|---|---|---|\n"
                                           "| `makespan` | -33.50 % | -53.37 % | a\\|b |\n"
                                           "| row | the paper | ours | note |\n|---|---|---|---|\n"
                                           "**Table 1**"));
}

TEST(ExperimentsPage, RefusesPlacesThatNameNothing) {
  for (const char* text : {"{{yeung.nothing}}", "{{nobody.slowdown}}", "{{grid yeung Table 9}}",
                           "{{draw yeung}}", "{{checklist nobody}}", "{{yeung", "{{yeung}}"}) {
    EXPECT_FALSE(ExperimentsPage({Paper()}, std::string(kGrid) + text)) << text;
  }
}

TEST(ExperimentsPage, LeavesNoGridOut) {
  const auto page = ExperimentsPage({Paper()}, "nothing");
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("{{grid yeung Table 1}}"));
}

}  // namespace
}  // namespace sharewell::research
