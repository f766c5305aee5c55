#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/text/plain_text.h"
#include "json/text.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

// A chart brings its own light colours as attributes, which CSS outranks: on a dark page each is
// replaced by one that is told from the others there as well.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--ink:#222;--quiet:#5c5c5c;--line:#d8d8d8;--page:#fff;--band:#f5f5f5;--link:#0b57b0}
body{font:15px/1.5 Helvetica,Arial,sans-serif;color:var(--ink);background:var(--page);max-width:104rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
p,ul,pre,.k{max-width:62rem}.r{font-size:1.15rem;margin:1rem 0 .6rem}.k{display:flex;flex-wrap:wrap;gap:.6rem;margin:.6rem 0 1.2rem}
.k div{border:1px solid var(--line);padding:.5rem .9rem;min-width:9rem}.k dt{color:var(--quiet);font-size:.85rem}.k dd{margin:0;font-size:1.3rem;font-weight:600}
h1{font-size:1.7rem;margin:0;line-height:1.25}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line)}
a{color:var(--link)}.q,figcaption,footer,nav{color:var(--quiet);font-size:.9rem}nav a{margin-right:1rem}
table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0;max-width:100%}th,td{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.w{overflow-x:auto;overflow-wrap:break-word}
figure{margin:1.4rem 0}svg{max-width:100%;height:auto;border:1px solid var(--line)}
pre{background:var(--band);padding:.7rem;white-space:pre-wrap;font-size:.85rem}footer{margin-top:3rem;border-top:1px solid var(--line)}
@media (prefers-color-scheme:dark){
:root{--ink:#e6e6e6;--quiet:#a6a6a6;--line:#3a3a3a;--page:#161616;--band:#222;--link:#8ab8ff}
svg{fill:#e6e6e6}svg>rect:first-child{fill:#161616}svg [stroke="#ffffff"]{stroke:#161616}
svg [fill="#222222"]{fill:#e6e6e6}svg [stroke="#222222"]{stroke:#e6e6e6}svg [fill="#666666"]{fill:#a6a6a6}
svg [stroke="#666666"]{stroke:#a6a6a6}svg [stroke="#e4e4e4"]{stroke:#3a3a3a}
svg [fill="#332288"]{fill:#8f86ff}svg [stroke="#332288"]{stroke:#8f86ff}
svg [fill="#117733"]{fill:#4fbf6b}svg [stroke="#117733"]{stroke:#4fbf6b}
svg [fill="#882255"]{fill:#e06aa0}svg [stroke="#882255"]{stroke:#e06aa0}
}
@media screen and (min-width:76rem){.g{display:grid;grid-template-columns:1fr 1fr;column-gap:1.5rem;align-items:start}.g figure{min-width:0}.g figure:only-child,.g .x{grid-column:1/-1}}
@media print{
:root{--ink:#000;--quiet:#444;--line:#bbb;--page:#fff;--band:#fff;--link:#000}
body{max-width:none;margin:0;font-size:10.5pt}figure,tr,pre{break-inside:avoid}h2{break-after:avoid}nav,.d{display:none}
}
)";

// A name that a saved file may have.
std::string FileName(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 80)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    out += plain ? c : '-';
  }
  return out.empty() ? "chart" : out;
}

}  // namespace

HtmlPage::HtmlPage(std::string_view title, std::string_view subtitle, std::string_view made)
    : title_(title), subtitle_(subtitle), made_(made) {}

std::string& HtmlPage::Body() {
  if (among_charts_) body_ += "</div>\n";
  among_charts_ = false;
  return body_;
}

void HtmlPage::Opens(std::string_view sentence, const std::vector<PageFigure>& figures) {
  opening_ = fmt::format("<p class=\"r\">{}</p>\n", Escaped(sentence));
  if (figures.empty()) return;
  opening_ += "<dl class=\"k\">\n";
  for (const PageFigure& figure : figures) {
    opening_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", Escaped(figure.name),
                            Escaped(figure.value));
  }
  opening_ += "</dl>\n";
}

void HtmlPage::Section(std::string_view heading) {
  sections_.emplace_back(heading);
  Body() += fmt::format("<h2 id=\"s{}\">{}</h2>\n", sections_.size(), Escaped(heading));
}

void HtmlPage::Text(std::string_view paragraph) {
  Body() += fmt::format("<p>{}</p>\n", Escaped(paragraph));
}

void HtmlPage::Quiet(std::string_view paragraph) {
  Body() += fmt::format("<p class=\"q\">{}</p>\n", Escaped(paragraph));
}

void HtmlPage::Listed(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  Body() += "<ul>\n";
  for (const std::string& line : lines) Body() += fmt::format("<li>{}</li>\n", Escaped(line));
  Body() += "</ul>\n";
}

void HtmlPage::Verbatim(std::string_view text) {
  // A line break right behind the tag is dropped by every reader of HTML.
  Body() += fmt::format("<pre>\n{}</pre>\n", Escaped(text));
}

void HtmlPage::Facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (facts.empty()) return;
  Body() += "<div class=\"w\"><table><tbody>\n";
  for (const auto& [name, value] : facts) {
    Body() += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", Escaped(name),
                          Escaped(value));
  }
  Body() += "</tbody></table></div>\n";
}

void HtmlPage::AddTable(const HtmlTable& table, std::size_t most) {
  const auto open = [&](std::size_t column, std::string_view tag) {
    return fmt::format("<{}{}>", tag,
                       table.columns[column].second == Align::kRight ? " class=\"n\"" : "");
  };
  Body() += "<div class=\"w\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Body() += open(c, "th scope=\"col\"") + Escaped(table.columns[c].first) + "</th>";
  }
  Body() += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < std::min(most, table.rows.size()); ++r) {
    Body() += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      Body() += open(c, "td") + Escaped(table.rows[r][c]) + "</td>";
    }
    Body() += "</tr>\n";
  }
  Body() += "</tbody></table></div>\n";
  if (table.rows.size() > most) {
    Quiet(fmt::format("The first {} of {} rows.", most, table.rows.size()));
  }
}

void HtmlPage::Rows(const HtmlTable& table, std::size_t most) {
  if (!table.rows.empty()) AddTable(table, most);
}

void HtmlPage::Folded(std::string_view summary, const HtmlTable& table, std::size_t most) {
  if (table.rows.empty()) return;
  Body() += fmt::format("<details><summary>{}</summary>\n", Escaped(summary));
  AddTable(table, most);
  Body() += "</details>\n";
}

void HtmlPage::Svg(std::string_view name, std::string_view caption, std::string_view svg,
                   std::string_view csv, bool wide) {
  // Within a page the name space goes without saying; a reader of the screen is told the caption.
  constexpr std::string_view kOpens = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  if (svg.starts_with(kOpens)) svg.remove_prefix(kOpens.size());
  if (!among_charts_) body_ += "<div class=\"g\">\n";
  among_charts_ = true;
  body_ += fmt::format("<figure{}>\n<svg role=\"img\" aria-label=\"{}\"{}",
                       wide ? " class=\"x\"" : "", Escaped(caption), svg);
  body_ += fmt::format("<figcaption>{}", Escaped(caption));
  body_ += fmt::format(
      " <a class=\"d\" download=\"{}.csv\" href=\"data:text/csv;charset=utf-8;base64,{}\">data as "
      "CSV</a></figcaption>\n</figure>\n",
      FileName(name), json::Base64(csv));
}

void HtmlPage::Chart(std::string_view name, std::string_view caption, const LineChart& chart) {
  Svg(name, caption, LineChartSvg(chart), LineChartCsv(chart));
}

void HtmlPage::Chart(std::string_view name, std::string_view caption, const Bars& bars) {
  Svg(name, caption, BarsSvg(bars), BarsCsv(bars), bars.panels.size() > 2);
}

void HtmlPage::Chart(std::string_view name, std::string_view caption, const Gantt& gantt) {
  Svg(name, caption, GanttSvg(gantt), GanttCsv(gantt), true);
}

std::string HtmlPage::Take() && {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n",
      Escaped(title_.empty() ? "report" : title_), kStyle, Escaped(title_));
  if (!subtitle_.empty()) page += fmt::format("<p class=\"q\">{}</p>\n", Escaped(subtitle_));
  page += opening_ + "</header>\n";
  if (sections_.size() > 2) {
    page += "<nav aria-label=\"Contents\">";
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      page += fmt::format("<a href=\"#s{}\">{}</a>\n", i + 1, Escaped(sections_[i]));
    }
    page += "</nav>\n";
  }
  page += "<main>\n" + Body() + "</main>\n<footer>\n";
  page += fmt::format("<p>{}</p>\n</footer>\n</body>\n</html>\n", Escaped(made_));
  // The whole page, so that nothing can slip by: charts bring text of their own.
  return core::PlainText(page, "\xef\xbf\xbd", "\n\t");
}

}  // namespace sharewell::report
