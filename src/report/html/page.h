// HtmlPage: a report as one HTML file that needs nothing else: charts are inline SVG, the data of
// each chart is a link that holds the CSV itself, and there is no script. It prints, follows the
// reader's light or dark setting, and asks the network for nothing.
//
// Any text may hold anything: it is escaped here, and what no page should hold (controls, broken
// UTF-8, characters that turn the direction of writing round) becomes U+FFFD. The same input gives
// the same bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart/gantt.h"
#include "report/chart/line_chart.h"
#include "report/chart/svg.h"
#include "report/text/table.h"

namespace sharewell::report {

struct HtmlTable {
  std::vector<std::pair<std::string, Align>> columns;
  std::vector<std::vector<std::string>> rows;  // REQUIRES: as many cells as columns
};

struct PageFigure {
  std::string value, name;  // "20.3", "GPU hours saved"
};

class HtmlPage {
 public:
  // `made`: by which program and when, at the foot.
  HtmlPage(std::string_view title, std::string_view subtitle, std::string_view made);

  // What the reader came for, above all sections: one sentence, and figures with their names.
  void Opens(std::string_view sentence, const std::vector<PageFigure>& figures);

  void Section(std::string_view heading);  // named in the list of contents
  void Text(std::string_view paragraph);
  void Quiet(std::string_view paragraph);  // less important: unknowns, remarks
  void Listed(const std::vector<std::string>& lines);
  void Verbatim(std::string_view text);  // commands, logs
  void Facts(const std::vector<std::pair<std::string, std::string>>& facts);
  // Of many rows the first ones are shown, and how many there are is said.
  void Rows(const HtmlTable& table, std::size_t most = 200);
  // Behind a line that opens on a click; printed closed.
  void Folded(std::string_view summary, const HtmlTable& table, std::size_t most = 200);

  // Charts that follow each other stand in two columns where the page is wide. `name`: of the CSV,
  // without its ending; `caption` stands below.
  void Chart(std::string_view name, std::string_view caption, const LineChart& chart);
  void Chart(std::string_view name, std::string_view caption, const Bars& bars);
  void Chart(std::string_view name, std::string_view caption, const Gantt& gantt);
  // `wide`: it takes both columns.
  void Svg(std::string_view name, std::string_view caption, std::string_view svg,
           std::string_view csv, bool wide = false);

  std::string Take() &&;

 private:
  void AddTable(const HtmlTable& table, std::size_t most);

  std::string& Body();  // behind all charts so far

  std::string title_, subtitle_, made_, opening_, body_;
  bool among_charts_ = false;
  std::vector<std::string> sections_;
};

}  // namespace sharewell::report
