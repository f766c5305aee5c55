#include "report/chart/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "report/chart/svg_canvas.h"

namespace sharewell::report {
namespace {

constexpr std::array<std::array<int, 3>, 9> kYlOrBr = {{{0xff, 0xff, 0xe5},
                                                        {0xff, 0xf7, 0xbc},
                                                        {0xfe, 0xe3, 0x91},
                                                        {0xfe, 0xc4, 0x4f},
                                                        {0xfb, 0x9a, 0x29},
                                                        {0xec, 0x70, 0x14},
                                                        {0xcc, 0x4c, 0x02},
                                                        {0x99, 0x34, 0x04},
                                                        {0x66, 0x25, 0x06}}};
constexpr std::string_view kNoValue = "#d9d9d9";
constexpr double kCell = 64, kCellHeight = 40, kAround = 20, kScaleHeight = 12;
constexpr double kCharacter = 6.6;
constexpr int kScaleSteps = 40;

struct Shade {
  std::string fill;
  bool dark = false;  // light letters are read on it
};

Shade ShadeAt(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(kYlOrBr.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(place), kYlOrBr.size() - 2);
  const double rest = place - static_cast<double>(low);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(
        std::lround(kYlOrBr[low][i] + rest * (kYlOrBr[low + 1][i] - kYlOrBr[low][i])));
  }
  // Rec. 601 luma.
  const double luma = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  return {fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]), luma < 140};
}

double LongestOf(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  return kCharacter * static_cast<double>(std::min<std::size_t>(longest, 40));
}

}  // namespace

std::string HeatMapSvg(const HeatMap& map) {
  const double left = kAround + 24 + LongestOf(map.rows);
  // Names of columns stand upright only where they fit; otherwise they lean.
  const bool leaning = LongestOf(map.columns) > kCell - 6;
  const double names = leaning ? 20 + 0.72 * LongestOf(map.columns) : 20;
  const double top = svg::kHeading + 20 + names;
  const double width = kCell * static_cast<double>(map.columns.size());
  const double bottom = top + kCellHeight * static_cast<double>(map.rows.size());
  const double lean_room = leaning ? 0.72 * LongestOf(map.columns) : 0;
  svg::Canvas canvas(std::max(left + width + lean_room, 560.0) + kAround, bottom + 66);
  canvas.Heading(kAround, map.title, map.subtitle);
  canvas.Text(left, svg::kHeading + 14, map.column_label, svg::Anchor::kStart,
              svg::Canvas::Quiet());
  canvas.Text(16, (top + bottom) / 2, map.row_label, svg::Anchor::kMiddle,
              fmt::format(" transform=\"rotate(-90 16 {})\"{}", svg::At((top + bottom) / 2),
                          svg::Canvas::Quiet()));
  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    const double x = left + kCell * (static_cast<double>(c) + 0.5);
    if (leaning) {
      canvas.Text(x, top - 8, map.columns[c], svg::Anchor::kStart,
                  fmt::format(" transform=\"rotate(-45 {} {})\"", svg::At(x), svg::At(top - 8)));
    } else {
      canvas.Text(x, top - 8, map.columns[c], svg::Anchor::kMiddle);
    }
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = top + kCellHeight * static_cast<double>(r);
    canvas.Text(left - 8, y + kCellHeight / 2 + 4, map.rows[r], svg::Anchor::kEnd);
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const HeatCell& cell = map.cells[r][c];
      const double x = left + kCell * static_cast<double>(c);
      const Shade shade = cell.value ? ShadeAt((*cell.value - map.least) / (map.most - map.least))
                                     : Shade{std::string(kNoValue), false};
      canvas.Box(x + 1, y + 1, kCell - 2, kCellHeight - 2, shade.fill, cell.title);
      canvas.Text(x + kCell / 2, y + kCellHeight / 2 + 4, cell.shown, svg::Anchor::kMiddle,
                  shade.dark ? " fill=\"#ffffff\"" : "");
    }
  }
  const double scale_top = bottom + 22, step = 200.0 / kScaleSteps;
  for (int i = 0; i < kScaleSteps; ++i) {
    canvas.Box(left + step * i, scale_top, step + 0.5, kScaleHeight,
               ShadeAt((i + 0.5) / kScaleSteps).fill);
  }
  canvas.Text(left, scale_top + kScaleHeight + 14, svg::Tick(map.least), svg::Anchor::kStart,
              svg::Canvas::Quiet());
  canvas.Text(left + 200, scale_top + kScaleHeight + 14, svg::Tick(map.most), svg::Anchor::kEnd,
              svg::Canvas::Quiet());
  canvas.Text(left + 212, scale_top + kScaleHeight - 2, map.scale_label);
  return std::move(canvas).Take();
}

}  // namespace sharewell::report
