#include "research/pages/papers_report.h"

#include <fmt/format.h>

#include <cstdint>

#include "core/text/words.h"
#include "report/html/page.h"
#include "research/pages/reproduce_page.h"

namespace sharewell::research {
namespace {

constexpr std::size_t kMostPaperRows = 1000;

report::HtmlTable ItemRows(const Experiment& experiment) {
  report::HtmlTable table{{{"in the paper", report::Align::kLeft},
                           {"what it shows", report::Align::kLeft},
                           {"here", report::Align::kLeft},
                           {"ours, or why not", report::Align::kLeft},
                           {"command", report::Align::kLeft}},
                          {}};
  for (const PaperItem& item : experiment.items) {
    table.rows.push_back(
        {item.id, item.shows, std::string(PaperItemWord(item.state)), item.answer, item.command});
  }
  return table;
}

report::HtmlTable FigureRows(const Experiment& experiment) {
  report::HtmlTable table{{{"what", report::Align::kLeft},
                           {"paper", report::Align::kRight},
                           {"ours", report::Align::kRight},
                           {"note", report::Align::kLeft}},
                          {}};
  for (const ReproduceRow& row : experiment.rows) {
    table.rows.push_back({row.what, ExperimentFigure(row.paper, row.unit),
                          ExperimentFigure(row.ours, row.unit), row.note});
  }
  return table;
}

void AddGrid(const PaperGrid& grid, report::HtmlPage& page) {
  report::HtmlTable table;
  for (const std::string& column : grid.columns) {
    table.columns.emplace_back(
        column, table.columns.empty() ? report::Align::kLeft : report::Align::kRight);
  }
  table.rows = grid.rows;
  page.Text(fmt::format("{}: {}", grid.id, grid.title));
  page.Rows(table, kMostPaperRows);
}

}  // namespace

std::string PapersPage(const std::vector<Experiment>& experiments, std::string_view made) {
  report::HtmlPage page(
      "The papers' results, theirs and ours",
      "Their machines, workloads and software were others: a figure that comes close is a "
      "sign, not a proof.",
      made);
  const PaperCounts counts = CountsOf(experiments);
  page.Opens(fmt::format("Of {} in {}, {} are shown beside ours, {} in part, and {} are not "
                         "reproduced.",
                         core::Count(static_cast<std::uint64_t>(counts.items()), "table or figure",
                                     "tables and figures"),
                         core::Count(experiments.size(), "paper"), counts.shown, counts.partly,
                         counts.not_shown),
             {{fmt::format("{}", counts.shown), "shown"},
              {fmt::format("{}", counts.partly), "in part"},
              {fmt::format("{}", counts.rows), "figures of ours"}});
  for (const Experiment& experiment : experiments) {
    page.Section(fmt::format("{}: {}", experiment.name, experiment.title));
    if (!experiment.assumptions.empty()) page.Listed(experiment.assumptions);
    if (!experiment.items.empty()) page.Rows(ItemRows(experiment), kMostPaperRows);
    for (const PaperGrid& grid : experiment.grids) AddGrid(grid, page);
    page.Folded(fmt::format("all {} figures of `sharewell-lab reproduce {}`",
                            experiment.rows.size(), experiment.name),
                FigureRows(experiment), kMostPaperRows);
  }
  return std::move(page).Take();
}

}  // namespace sharewell::research
