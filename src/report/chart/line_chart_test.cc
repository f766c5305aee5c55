#include "report/chart/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LineChart CoreCurve() {
  LineChart chart;
  chart.title = "throughput & cores";
  chart.x = {"cores", 1, 16};
  chart.y = {"samples/s", 0, 100};
  chart.x_ticks = {1, 4, 16};
  chart.doubling = true;
  chart.lines = {{"alex<net>", {{1, 25, 0, "1 core"}, {4, 50, 5, ""}, {16, 100, 0, ""}}, 4},
                 {"vgg16", {{1, 10, 0, ""}, {16, 10, 0, ""}}, {}}};
  chart.mark_name = "knee";
  return chart;
}

TEST(LineChartSvg, GivesEachDoublingTheSameWidth) {
  const std::string svg = LineChartSvg(CoreCurve());
  // 560 wide from 76, 360 high down to 422: four cores are half way.
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"76\" cy=\"332\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"356\" cy=\"242\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"636\" cy=\"62\""));
  EXPECT_THAT(svg, HasSubstr("alex&lt;net&gt;"));
  EXPECT_EQ(svg, LineChartSvg(CoreCurve()));
}

TEST(LineChartSvg, RingsTheMarkedPointAndDrawsWhiskers) {
  const std::string svg = LineChartSvg(CoreCurve());
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"356\" cy=\"242\" r=\"8.5\" fill=\"none\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"356\" y1=\"260\" x2=\"356\" y2=\"224\""));
  EXPECT_THAT(svg, HasSubstr(">knee</text>"));
}

TEST(LineChartSvg, TellsTheTenthLineByItsDashes) {
  LineChart chart = CoreCurve();
  chart.lines.clear();
  for (int i = 0; i < 10; ++i) chart.lines.push_back({"l", {{1, 1, 0, ""}, {2, 1, 0, ""}}, {}});
  EXPECT_THAT(LineChartSvg(chart), HasSubstr("stroke-dasharray=\"7 3\""));
  chart.lines.pop_back();
  EXPECT_THAT(LineChartSvg(chart), Not(HasSubstr("stroke-dasharray")));
}

TEST(LineChartSvg, DrawsNothingOfNothing) {
  LineChart chart;
  chart.lines = {{"", {{0.5, -1, 0, ""}}, {}}};
  EXPECT_THAT(LineChartSvg(chart), Not(HasSubstr("nan")));
}

TEST(LineChartSvg, DrawsManyPointsAsOneStrokeAndLeavesGapsOpen) {
  LineChart chart;
  chart.x = {"seconds", 0, 200};
  ChartLine line{"busy", {}, {}};
  for (int i = 0; i < 100; ++i) line.points.push_back({i < 50 ? 1.0 * i : i + 100.0, 0.5, 0, ""});
  chart.lines = {line};
  const auto strokes = [](const std::string& svg) {
    int count = 0;
    for (auto at = svg.find("<polyline"); at != svg.npos; at = svg.find("<polyline", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(strokes(LineChartSvg(chart)), 1);
  chart.lines[0].gap = 5;
  EXPECT_EQ(strokes(LineChartSvg(chart)), 2) << "nothing is known from 49 to 150";
}

TEST(LineChartCsv, HasARowForEachPointAndNamesTheAxes) {
  LineChart chart = CoreCurve();
  chart.y.label = "CPU use, %";
  EXPECT_EQ(LineChartCsv(chart),
            "line,cores,cpu_use_percent\nalex<net>,1,25\nalex<net>,4,50\nalex<net>,16,100\n"
            "vgg16,1,10\nvgg16,16,10\n");
  chart.x.label = "°";
  EXPECT_THAT(LineChartCsv(chart), ::testing::StartsWith("line,x,"));
}

TEST(AxisUpTo, EndsAtARoundNumber) {
  EXPECT_EQ(AxisUpTo("", 93).most, 100);
  EXPECT_EQ(AxisUpTo("", 100).most, 100);
  EXPECT_EQ(AxisUpTo("", 0).most, 1);
}

TEST(AxisOver, IsAroundAllWhereverZeroIs) {
  EXPECT_NEAR(AxisOver("", 3.12, 3.48).least, 3.1, 1e-9);
  EXPECT_NEAR(AxisOver("", 3.12, 3.48).most, 3.5, 1e-9);
  EXPECT_NEAR(AxisOver("", -9.3, 0.4).least, -10, 1e-9);
  for (const double same : {0.0, 1.0, -3.5, 1e30, -1e30, 1e-300}) {
    const ChartAxis axis = AxisOver("", same, same);
    EXPECT_LT(axis.least, same);
    EXPECT_GT(axis.most, same);
  }
}

}  // namespace
}  // namespace sharewell::report
