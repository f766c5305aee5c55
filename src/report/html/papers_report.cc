#include "report/html/papers_report.h"

#include <fmt/format.h>

#include <cstdint>

#include "core/text/words.h"
#include "report/html/page.h"
#include "report/reproduce/page.h"

namespace sharewell::report {
namespace {

constexpr std::size_t kMostPaperRows = 1000;

HtmlTable ItemRows(const study::Experiment& experiment) {
  HtmlTable table{{{"in the paper", Align::kLeft},
                   {"what it shows", Align::kLeft},
                   {"here", Align::kLeft},
                   {"ours, or why not", Align::kLeft},
                   {"command", Align::kLeft}},
                  {}};
  for (const study::PaperItem& item : experiment.items) {
    table.rows.push_back(
        {item.id, item.shows, std::string(PaperItemWord(item.state)), item.answer, item.command});
  }
  return table;
}

HtmlTable FigureRows(const study::Experiment& experiment) {
  HtmlTable table{{{"what", Align::kLeft},
                   {"paper", Align::kRight},
                   {"ours", Align::kRight},
                   {"note", Align::kLeft}},
                  {}};
  for (const study::ReproduceRow& row : experiment.rows) {
    table.rows.push_back({row.what, ExperimentFigure(row.paper, row.unit),
                          ExperimentFigure(row.ours, row.unit), row.note});
  }
  return table;
}

void AddGrid(const study::PaperGrid& grid, HtmlPage& page) {
  HtmlTable table;
  for (const std::string& column : grid.columns) {
    table.columns.emplace_back(column, table.columns.empty() ? Align::kLeft : Align::kRight);
  }
  table.rows = grid.rows;
  page.Text(fmt::format("{}: {}", grid.id, grid.title));
  page.Rows(table, kMostPaperRows);
}

}  // namespace

std::string PapersPage(const std::vector<study::Experiment>& experiments, std::string_view made) {
  HtmlPage page(
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
  for (const study::Experiment& experiment : experiments) {
    page.Section(fmt::format("{}: {}", experiment.name, experiment.title));
    if (!experiment.assumptions.empty()) page.Listed(experiment.assumptions);
    if (!experiment.items.empty()) page.Rows(ItemRows(experiment), kMostPaperRows);
    for (const study::PaperGrid& grid : experiment.grids) AddGrid(grid, page);
    page.Folded(fmt::format("all {} figures of `sharewell reproduce {}`", experiment.rows.size(),
                            experiment.name),
                FigureRows(experiment), kMostPaperRows);
  }
  return std::move(page).Take();
}

}  // namespace sharewell::report
