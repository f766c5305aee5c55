#include "report/text/fitted.h"

#include <gtest/gtest.h>

#include "report/text/table.h"

namespace sharewell::report {
namespace {

TEST(Fitted, LeavesWhatFitsAsItIs) {
  for (const char* text : {"", "\n", "a  b\n\n  c", "a  b\n\n  c\n", "no end"}) {
    EXPECT_EQ(Fitted(text, 20), text);
  }
}

TEST(Fitted, BreaksALineAtSpacesAndKeepsAPathWhole) {
  EXPECT_EQ(Fitted("one two three four\n", 10), "one two\n  three\n  four\n");
  EXPECT_EQ(Fitted("see /a/very/long/path/there now\n", 12),
            "see\n  /a/very/long/path/there\n  now\n");
  EXPECT_EQ(Fitted("then run `sharewell job 7` here\n", 20),
            "then run\n  `sharewell job 7`\n  here\n")
      << "a command is copied whole";
}

TEST(Fitted, GoesOnBelowTheTextOfALine) {
  EXPECT_EQ(Fitted("  driver  ok  one two three four\n"
                   "              five\n"
                   "  next    ok  six\n",
                   24),
            "  driver  ok  one two\n"
            "              three four\n"
            "              five\n"
            "  next    ok  six\n");
}

TEST(Fitted, WrapsTheWidestColumnOfWordsOfATable) {
  Table table({{"name", Align::kLeft}, {"n", Align::kRight}, {"what", Align::kLeft}});
  table.Row({"running_jobs", "12", "jobs of one user that run at the same time"});
  table.Gap();
  table.Row({"x", "3", "short"});
  EXPECT_EQ(Fitted("Limits.\n\n" + table.Text() + "\nThe end.\n", 40),
            "Limits.\n\n"
            "name           n  what\n"
            "────────────  ──  ─────────────────────\n"
            "running_jobs  12  jobs of one user that\n"
            "                  run at the same time\n"
            "\n"
            "x              3  short\n"
            "\n"
            "The end.\n");
}

TEST(Fitted, ATableOfNumbersGoesOnBelowWithItsFirstColumn) {
  Table table({{"policy", Align::kLeft}, {"mean", Align::kRight}, {"worst", Align::kRight}});
  table.Row({"fifo", "1h 02m", "12h 00m"});
  EXPECT_EQ(Fitted(table.Text(), 16),
            "policy    mean\n"
            "──────  ──────\n"
            "fifo    1h 02m\n"
            "\n"
            "policy    worst\n"
            "──────  ───────\n"
            "fifo    12h 00m\n");
  EXPECT_EQ(table.Text(16), Fitted(table.Text(), 16));
}

TEST(Fitted, AnIndentedTableStaysIndented) {
  EXPECT_EQ(Fitted("  a        bbbbb\n"
                   "  ───────  ─────\n"
                   "  one two  1\n",
                   100),
            "  a        bbbbb\n"
            "  ───────  ─────\n"
            "  one two  1\n");
  EXPECT_EQ(Fitted("  a        bbbbb\n"
                   "  ───────  ─────\n"
                   "  one two  1\n",
                   12),
            "  a        bbbbb\n"
            "  ───────  ─────\n"
            "  one two  1\n")
      << "two columns are the least";
}

TEST(Fitted, TakesAnyText) {
  const std::string hostile[] = {"──────────────\n", "──  ──\n──  ──\n", "\xff\xff\xff\xff\xff\xff",
                                 "a\n────────  ─────────\n\n\n\nb  c", "日本語日本語日本語 日本語"};
  for (const std::string& text : hostile) {
    for (const std::size_t width : {0, 1, 2, 5, 12}) EXPECT_FALSE(Fitted(text, width).empty());
  }
}

}  // namespace
}  // namespace sharewell::report
