// A matrix as coloured squares, in SVG: light is little, dark is much (Paul Tol's YlOrBr, which
// colour-blind people and grey prints keep in order), and every square has its figure in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sharewell::report {

struct HeatCell {
  std::optional<double> value;  // absent: a grey square
  std::string shown;            // in the square
  std::string title;            // shown where the pointer rests
};

struct HeatMap {
  std::string title, subtitle;
  std::string row_label, column_label;
  std::vector<std::string> rows, columns;
  std::vector<std::vector<HeatCell>> cells;  // by row; REQUIRES: as many as rows, columns
  double least = 0, most = 1;                // lightest and darkest; REQUIRES least < most
  std::string scale_label;
};
std::string HeatMapSvg(const HeatMap& map);

}  // namespace sharewell::report
