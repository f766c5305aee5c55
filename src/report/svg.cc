#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace sharewell::report {
namespace {

constexpr std::array<std::string_view, kChartColours + 1> kColours = {
    "#332288", "#88ccee", "#44aa99", "#117733", "#999933",
    "#ddcc77", "#cc6677", "#882255", "#aa4499", "#a0a0a0"};
constexpr std::string_view kInk = "#222222";
constexpr std::string_view kQuiet = "#666666";
constexpr std::string_view kGrid = "#e4e4e4";
constexpr double kFont = 12;
constexpr double kTitleFont = 16;

// One decimal is finer than a screen; "12.0" is written "12".
std::string At(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string Tick(double value) {
  std::string text = fmt::format("{:.6g}", value);
  return text == "-0" ? "0" : text;
}

enum class Anchor { kStart, kMiddle, kEnd };

class Canvas {
 public:
  Canvas(double width, double height) {
    Put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{2}\" "
        "fill=\"{3}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        At(width), At(height), At(kFont), kInk);
  }

  void Line(double x1, double y1, double x2, double y2, std::string_view colour,
            std::string_view more = "") {
    Put("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>\n", At(x1), At(y1), At(x2),
        At(y2), colour, more);
  }
  void Circle(double x, double y, std::string_view colour, const std::string& title) {
    Put("<circle cx=\"{}\" cy=\"{}\" r=\"4.5\" fill=\"{}\" fill-opacity=\"0.8\" "
        "stroke=\"#ffffff\" stroke-width=\"0.7\"",
        At(x), At(y), colour);
    if (title.empty()) {
      text_ += "/>\n";
    } else {
      Put("><title>{}</title></circle>\n", Escaped(title));
    }
  }
  void Box(double x, double y, double width, double height, std::string_view colour) {
    Put("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", At(x), At(y),
        At(width), At(height), colour);
  }
  void Text(double x, double y, std::string_view text, Anchor anchor = Anchor::kStart,
            std::string_view more = "") {
    constexpr std::string_view kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    Put("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", At(x), At(y),
        kAnchors[static_cast<std::size_t>(anchor)], more, Escaped(text));
  }
  void Heading(double x, const std::string& title, const std::string& subtitle) {
    Text(x, 26, title, Anchor::kStart,
         fmt::format(" font-size=\"{}\" font-weight=\"bold\"", At(kTitleFont)));
    Text(x, 46, subtitle, Anchor::kStart, Quiet());
  }
  static std::string Quiet() { return fmt::format(" fill=\"{}\"", kQuiet); }

  std::string Take() && { return std::move(text_) + "</svg>\n"; }

 private:
  template <class... Args>
  void Put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  std::string text_;
};

// From data to places on the canvas.
struct Scale {
  double least, most, from, to;
  double operator()(double value) const {
    const double share = (std::clamp(value, least, most) - least) / (most - least);
    return from + share * (to - from);
  }
};

constexpr double kHeading = 62;  // room for title and subtitle

}  // namespace

std::string_view ChartColour(std::size_t i) { return kColours[std::min(i, kChartColours)]; }

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::vector<double> Ticks(double least, double most, int wanted) {
  const double rough = (most - least) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
  std::vector<double> out;
  // Whole multiples, so that no sum of roundings drifts; the slack keeps the last one.
  const auto first = static_cast<long long>(std::ceil(least / step - 1e-9));
  const auto last = static_cast<long long>(std::floor(most / step + 1e-9));
  for (long long i = first; i <= last; ++i) out.push_back(static_cast<double>(i) * step);
  return out;
}

std::string ScatterSvg(const Scatter& scatter) {
  constexpr double kSide = 520, kLeft = 64, kBottom = 56, kLegend = 170, kEdge = 20;
  const double right = kLeft + kSide;
  const double bottom = kHeading + kSide;
  const double width = right + kEdge + (scatter.keys.empty() ? 0 : kLegend);
  Canvas canvas(width, bottom + kBottom);
  canvas.Heading(kLeft, scatter.title, scatter.subtitle);
  const Scale x{scatter.x.least, scatter.x.most, kLeft, right};
  const Scale y{scatter.y.least, scatter.y.most, bottom, kHeading};
  for (const double tick : Ticks(scatter.x.least, scatter.x.most, 5)) {
    canvas.Line(x(tick), kHeading, x(tick), bottom, kGrid);
    canvas.Text(x(tick), bottom + 18, Tick(tick), Anchor::kMiddle, Canvas::Quiet());
  }
  for (const double tick : Ticks(scatter.y.least, scatter.y.most, 5)) {
    canvas.Line(kLeft, y(tick), right, y(tick), kGrid);
    canvas.Text(kLeft - 8, y(tick) + 4, Tick(tick), Anchor::kEnd, Canvas::Quiet());
  }
  if (scatter.diagonal) {
    const double from = std::max(scatter.x.least, scatter.y.least);
    const double to = std::min(scatter.x.most, scatter.y.most);
    canvas.Line(x(from), y(from), x(to), y(to), kQuiet, " stroke-dasharray=\"5 4\"");
  }
  canvas.Line(kLeft, bottom, right, bottom, kInk);
  canvas.Line(kLeft, kHeading, kLeft, bottom, kInk);
  canvas.Text((kLeft + right) / 2, bottom + 42, scatter.x.label, Anchor::kMiddle);
  canvas.Text(18, (kHeading + bottom) / 2, scatter.y.label, Anchor::kMiddle,
              fmt::format(" transform=\"rotate(-90 18 {})\"", At((kHeading + bottom) / 2)));
  for (const ChartPoint& point : scatter.points) {
    canvas.Circle(x(point.x), y(point.y), ChartColour(point.colour), point.title);
  }
  double at = kHeading + 10;
  for (const ChartKey& key : scatter.keys) {
    canvas.Circle(right + kEdge + 6, at, ChartColour(key.colour), "");
    canvas.Text(right + kEdge + 18, at + 4, key.name);
    at += 20;
  }
  return std::move(canvas).Take();
}

std::string BarsSvg(const Bars& bars) {
  constexpr double kEdge = 20, kLabel = 150, kBar = 150, kShown = 60, kRow = 22, kThick = 14;
  constexpr double kPanel = kLabel + kBar + kShown, kPanelTitle = 26;
  std::size_t most_rows = 0;
  for (const BarPanel& panel : bars.panels) most_rows = std::max(most_rows, panel.bars.size());
  const double top = kHeading + kPanelTitle;
  const auto panels = static_cast<double>(std::max<std::size_t>(1, bars.panels.size()));
  Canvas canvas(2 * kEdge + panels * kPanel, top + static_cast<double>(most_rows) * kRow + kEdge);
  canvas.Heading(kEdge, bars.title, bars.subtitle);
  double left = kEdge;
  for (std::size_t p = 0; p < bars.panels.size(); ++p, left += kPanel) {
    const BarPanel& panel = bars.panels[p];
    canvas.Text(left + kLabel, kHeading + 12, panel.title, Anchor::kStart, " font-weight=\"bold\"");
    double longest = 0;
    for (const ChartBar& bar : panel.bars) longest = std::max(longest, bar.value);
    double y = top;
    for (const ChartBar& bar : panel.bars) {
      const double length = longest > 0 ? kBar * std::max(0.0, bar.value) / longest : 0;
      canvas.Text(left + kLabel - 8, y + kThick - 3, bar.label, Anchor::kEnd);
      canvas.Box(left + kLabel, y, length, kThick, ChartColour(p * 2));
      canvas.Text(left + kLabel + length + 6, y + kThick - 3, bar.shown, Anchor::kStart,
                  Canvas::Quiet());
      y += kRow;
    }
    canvas.Line(left + kLabel, top - 4, left + kLabel, y - kRow + kThick + 4, kInk);
  }
  return std::move(canvas).Take();
}

}  // namespace sharewell::report
