// What the charts are drawn with: a canvas that writes SVG, and scales from data to places on it.
// For report/*.cc only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart/svg.h"

namespace sharewell::report::svg {

inline constexpr std::string_view kInk = "#222222";
inline constexpr std::string_view kQuiet = "#666666";
inline constexpr std::string_view kGrid = "#e4e4e4";
inline constexpr double kFont = 12;
inline constexpr double kTitleFont = 16;

// One decimal is finer than a screen; "12.0" is written "12".
inline std::string At(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

inline std::string Tick(double value) {
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
    Titled(title, "circle");
  }
  // A stroke through all of them; of one alone a dot.
  void Polyline(const std::vector<std::pair<double, double>>& points, std::string_view colour,
                std::string_view more = "") {
    if (points.empty()) return;
    if (points.size() == 1) {
      Put("<circle cx=\"{}\" cy=\"{}\" r=\"1.5\" fill=\"{}\"/>\n", At(points[0].first),
          At(points[0].second), colour);
      return;
    }
    text_ += "<polyline points=\"";
    for (std::size_t i = 0; i < points.size(); ++i) {
      Put("{}{},{}", i == 0 ? "" : " ", At(points[i].first), At(points[i].second));
    }
    Put("\" fill=\"none\" stroke=\"{}\"{}/>\n", colour, more);
  }
  // Around a point, to mark it.
  void Ring(double x, double y, std::string_view colour) {
    Put("<circle cx=\"{}\" cy=\"{}\" r=\"8.5\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"1.8\"/>\n",
        At(x), At(y), colour);
  }
  void Box(double x, double y, double width, double height, std::string_view colour,
           const std::string& title = "") {
    Put("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", At(x), At(y), At(width),
        At(height), colour);
    Titled(title, "rect");
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
  // Ends the element that is open.
  void Titled(const std::string& title, std::string_view element) {
    if (title.empty()) {
      text_ += "/>\n";
    } else {
      Put("><title>{}</title></{}>\n", Escaped(title), element);
    }
  }
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

inline constexpr double kHeading = 62;  // room for title and subtitle

}  // namespace sharewell::report::svg
