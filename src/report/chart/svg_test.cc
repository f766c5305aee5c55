#include "report/chart/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

Scatter Example() {
  Scatter out;
  out.title = "predicted & measured";
  out.subtitle = "of <all>";
  out.x = {"measured", 0, 100};
  out.y = {"predicted", 0, 100};
  out.diagonal = true;
  out.points = {{50, 25, 0, "a \"job\""}, {1000, -3, 99, ""}};
  out.keys = {{"resnet", 0}, {"other", 99}};
  return out;
}

TEST(Escaped, LeavesNothingThatMarkupMeans) {
  EXPECT_EQ(Escaped("a<b>&\"c'\x01"), "a&lt;b&gt;&amp;&quot;c&#39;?");
  EXPECT_EQ(Escaped("µs\n"), "µs\n");
}

TEST(Ticks, AreRound) {
  EXPECT_THAT(Ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(Ticks(-1, 1, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(Ticks(3, 9, 3), ElementsAre(4, 6, 8));
}

TEST(ScatterSvg, DrawsEachPointWhereItBelongs) {
  const std::string svg = ScatterSvg(Example());
  // The plot is 520 wide from 64, and 520 high down to 582.
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"324\" cy=\"452\" r=\"4.5\" fill=\"#332288\""));
  EXPECT_THAT(svg, HasSubstr("<title>a &quot;job&quot;</title>"));
  // What is beyond the axes stands at their edge.
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"584\" cy=\"582\" r=\"4.5\" fill=\"#a0a0a0\""));
  EXPECT_EQ(Count(svg, "<circle"), 4U);
  EXPECT_EQ(Count(svg, "stroke-dasharray"), 1U);
  EXPECT_THAT(svg, HasSubstr("predicted &amp; measured"));
  EXPECT_THAT(svg, Not(HasSubstr("<all>")));
  EXPECT_EQ(svg, ScatterSvg(Example()));
}

TEST(BarsSvg, ScalesEachPanelToItsLongest) {
  const std::string svg =
      BarsSvg({"shares", "", {{"one", {{"a", 0.5, "50 %"}, {"b", 0.25, "25 %"}}}, {"two", {}}}});
  EXPECT_THAT(svg, HasSubstr("width=\"150\" height=\"14\""));
  EXPECT_THAT(svg, HasSubstr("width=\"75\" height=\"14\""));
  EXPECT_THAT(svg, HasSubstr(">25 %</text>"));
}

TEST(BarsSvg, DrawsNothingOfNothing) {
  const std::string svg = BarsSvg({"", "", {{"zeros", {{"a", 0, ""}}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(BarsSvg({}), HasSubstr("</svg>"));
}

TEST(MarksOf, AreDatesWhereTimePassesADay) {
  constexpr core::UnixMillis kNoon = 1'794'744'000'000;  // 2026-11-15 12:00 UTC
  const ChartAxis week{"days", 0, 7, kNoon, 86400e3};
  const AxisMarks marks = MarksOf(week, 6);
  EXPECT_EQ(marks.label, "UTC");
  ASSERT_EQ(marks.marks.size(), 4U);
  EXPECT_EQ(marks.marks[0], (std::pair<double, std::string>(0.5, "2026-11-16")));
  EXPECT_EQ(marks.marks[3], (std::pair<double, std::string>(6.5, "2026-11-22")));
  const AxisMarks two = MarksOf({"hours", 0, 48, kNoon, 3600e3}, 6);
  ASSERT_EQ(two.marks.size(), 5U);
  EXPECT_EQ(two.marks[0], (std::pair<double, std::string>(0, "12:00")));
  EXPECT_EQ(two.marks[1], (std::pair<double, std::string>(12, "2026-11-16")));
  const AxisMarks year = MarksOf({"days", 0, 3650, kNoon, 86400e3}, 6);
  EXPECT_LE(year.marks.size(), 7U);
  const AxisMarks hours = MarksOf({"hours", 0, 24, kNoon, 3600e3}, 6);
  EXPECT_EQ(hours.label, "hours");
  EXPECT_EQ(hours.marks[1].second, "5");
  EXPECT_EQ(MarksOf({"days", 0, 7}, 6).label, "days") << "of a trace nobody knows the date";
}

}  // namespace
}  // namespace sharewell::report
