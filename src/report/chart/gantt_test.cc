#include "report/chart/gantt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;

Gantt TwoGpus() {
  Gantt gantt;
  gantt.title = "GPUs";
  gantt.time = {"hours", 0, 10};
  gantt.rows = {{"n1:0", {{0, 5, 0, "a", "job <a>"}, {2, 4, 1, "b", ""}, {5, 10, 0, "c", ""}}},
                {"n1:1", {{0, 0, 0, "blink", ""}}}};
  return gantt;
}

TEST(GanttSvg, LetsJobsThatShareAGpuShareItsRow) {
  const std::string svg = GanttSvg(TwoGpus());
  // 620 wide from 150: a has the upper half of the row, b the lower one, c the upper one again.
  EXPECT_THAT(svg, HasSubstr("<rect x=\"150\" y=\"64\" width=\"310\" height=\"9.4\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"274\" y=\"74\" width=\"124\" height=\"9.4\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"460\" y=\"64\" width=\"310\" height=\"9.4\""));
  EXPECT_THAT(svg, HasSubstr("<title>job &lt;a&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("width=\"0.8\"")) << "what took no time is seen";
}

TEST(GanttCsv, HasARowForEachSpan) {
  EXPECT_EQ(GanttCsv(TwoGpus()),
            "row,name,from,to\nn1:0,a,0,5\nn1:0,b,2,4\nn1:0,c,5,10\nn1:1,blink,0,0\n");
}

}  // namespace
}  // namespace sharewell::report
