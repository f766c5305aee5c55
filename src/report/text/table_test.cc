#include "report/text/table.h"

#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

TEST(DisplayWidth, CountsCharactersNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0U);
  EXPECT_EQ(DisplayWidth("µs"), 2U);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1U);  // e and a joining accent
  EXPECT_EQ(DisplayWidth("日本"), 4U);
  EXPECT_EQ(DisplayWidth("\xff\xe2"), 2U);  // broken
}

TEST(Table, AlignsNumbersRightAndLeavesNoTrailingSpace) {
  Table table({{"name", Align::kLeft}, {"µ", Align::kRight}, {"", Align::kLeft}});
  table.Row({"a", "1", ""});
  table.Gap();
  table.Gap();
  table.Row({"日本語", "1,000", "x"});
  EXPECT_EQ(table.Text(),
            "name        µ\n"
            "──────  ─────  ─\n"
            "a           1\n"
            "\n"
            "日本語  1,000  x\n");
  EXPECT_EQ(table.Width(), 16U);
}

TEST(Table, AGapNeedsSomethingAboveIt) {
  Table table({{"a", Align::kLeft}});
  table.Gap();
  EXPECT_EQ(table.Text(), "a\n─\n");
}

// A job's name must not move the cursor.
TEST(Table, ShowsControlsAsQuestionMarks) {
  Table table({{"a\nb", Align::kLeft}});
  table.Row({"x\x1b[2J"});
  EXPECT_EQ(table.Text(), "a?b\n─────\nx?[2J\n");
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(Wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(Wrapped("incomprehensible a", 5, 0), "incomprehensible\na");
  EXPECT_EQ(Wrapped("  a   b ", 80, 0), "a b");
  EXPECT_EQ(Wrapped("one two", 10, 5, 5), "one\n     two");
  EXPECT_EQ(Wrapped("", 10, 2), "");
}

}  // namespace
}  // namespace sharewell::report
