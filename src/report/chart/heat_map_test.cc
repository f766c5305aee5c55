#include "report/chart/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HeatMap Packing() {
  HeatMap map;
  map.title = "packing";
  map.rows = map.columns = {"RN", "D&V"};
  map.cells = {{{1.0, "1.00", ""}, {2.0, "2.00", "RN with D&V"}},
               {{std::nullopt, "OOM", ""}, {3.5, "3.50", ""}}};
  map.least = 1;
  map.most = 2;
  return map;
}

TEST(HeatMapSvg, ShadesFromLightToDark) {
  const std::string svg = HeatMapSvg(Packing());
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffe5\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"#662506\"><title>RN with D&amp;V</title></rect>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#d9d9d9\""));
  // Letters on a dark square are light.
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffff\">2.00</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("fill=\"#ffffff\">1.00</text>")));
  EXPECT_EQ(svg, HeatMapSvg(Packing()));
}

TEST(HeatMapSvg, LeansNamesThatAreTooLong) {
  HeatMap map = Packing();
  EXPECT_THAT(HeatMapSvg(map), Not(HasSubstr("rotate(-45")));
  map.columns[0] = "tv:resnet50@224";
  EXPECT_THAT(HeatMapSvg(map), HasSubstr("rotate(-45"));
}

TEST(HeatMapSvg, DrawsNothingOfNothing) { EXPECT_THAT(HeatMapSvg({}), HasSubstr("</svg>")); }

}  // namespace
}  // namespace sharewell::report
