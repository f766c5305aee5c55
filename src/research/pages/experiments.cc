#include "research/pages/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/text/json.h"
#include "report/text/table.h"
#include "research/pages/reproduce_page.h"

namespace sharewell::research {
namespace {

// Below this a note's column is no use: it goes over the width instead.
constexpr std::size_t kLeastNote = 20;

std::string RowsTable(const std::vector<ReproduceRow>& rows, std::size_t width) {
  std::vector<std::pair<std::string, report::Align>> columns = {{"what", report::Align::kLeft},
                                                                {"paper", report::Align::kRight},
                                                                {"ours", report::Align::kRight}};
  report::Table plain(columns);
  for (const auto& row : rows) {
    plain.Row(
        {row.what, ExperimentFigure(row.paper, row.unit), ExperimentFigure(row.ours, row.unit)});
  }
  if (std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.note.empty(); })) {
    return plain.Text();
  }
  const std::size_t at = plain.Width() + 2;
  const std::size_t room = std::max(width - std::min(width, at), kLeastNote);
  columns.emplace_back("note", report::Align::kLeft);
  report::Table table(columns);
  for (const auto& row : rows) {
    std::string note = report::Wrapped(row.note, room, 0);
    std::string what = row.what;
    std::string paper = ExperimentFigure(row.paper, row.unit);
    std::string ours = ExperimentFigure(row.ours, row.unit);
    while (true) {
      const std::size_t end = note.find('\n');
      table.Row({std::exchange(what, ""), std::exchange(paper, ""), std::exchange(ours, ""),
                 note.substr(0, end)});
      if (end == std::string::npos) break;
      note.erase(0, end + 1);
    }
  }
  return table.Text();
}

// The cells of a page are written for Markdown.
std::string Plain(std::string text) {
  std::erase(text, '`');
  return text;
}

std::string GridText(const PaperGrid& grid, std::size_t width) {
  std::vector<std::pair<std::string, report::Align>> columns;
  for (const std::string& column : grid.columns)
    columns.emplace_back(Plain(column), report::Align::kLeft);
  report::Table table(columns);
  for (const auto& row : grid.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(Plain(cell));
    table.Row(std::move(cells));
  }
  return fmt::format("\n{}\n\n{}", report::Wrapped(grid.id + ": " + Plain(grid.title), width, 2),
                     table.Text());
}

std::string ItemsText(const std::vector<PaperItem>& items, std::size_t width) {
  if (items.empty()) return "";
  std::string out = "\nevery table and figure of the paper:\n";
  for (const PaperItem& item : items) {
    std::string text = fmt::format("{} ({}): {}. {}", item.id, item.shows,
                                   PaperItemWord(item.state), Plain(item.answer));
    if (!item.command.empty()) text += " Command: " + item.command;
    out += report::Wrapped(text, width, 4) + '\n';
  }
  return out;
}

}  // namespace

std::string PapersSummary(const std::vector<Experiment>& experiments) {
  report::Table table({{"paper", report::Align::kLeft},
                       {"tables and figures", report::Align::kRight},
                       {"shown", report::Align::kRight},
                       {"in part", report::Align::kRight},
                       {"not reproduced", report::Align::kRight},
                       {"no result", report::Align::kRight},
                       {"our figures", report::Align::kRight}});
  const auto row = [&](const std::string& name, const PaperCounts& counts) {
    table.Row({name, fmt::format("{}", counts.items()), fmt::format("{}", counts.shown),
               fmt::format("{}", counts.partly), fmt::format("{}", counts.not_shown),
               fmt::format("{}", counts.no_result), fmt::format("{}", counts.rows)});
  };
  for (const Experiment& experiment : experiments) row(experiment.name, CountsOf(experiment));
  table.Gap();
  row("all", CountsOf(experiments));
  return "in short: what became of the papers' tables and figures\n\n" + table.Text();
}

std::string ExperimentsTable(const std::vector<Experiment>& experiments, std::size_t width) {
  std::string out;
  for (const Experiment& experiment : experiments) {
    if (!out.empty()) out += '\n';
    out += fmt::format("{}: {}\n\n", experiment.name, experiment.title);
    out += RowsTable(experiment.rows, width);
    for (const PaperGrid& grid : experiment.grids) out += GridText(grid, width);
    if (!experiment.assumptions.empty()) out += '\n';
    for (const std::string& assumption : experiment.assumptions) {
      out += report::Wrapped("assumed: " + assumption, width, 9) + '\n';
    }
    out += ItemsText(experiment.items, width);
  }
  if (experiments.size() > 1) out += '\n' + PapersSummary(experiments);
  return out;
}

std::string ExperimentsJson(const std::vector<Experiment>& experiments) {
  return report::JsonReport([&](json::Writer& out) {
    out.List("experiments", experiments, [&](const Experiment& experiment) {
      out.Object([&] {
        out.Field("name", experiment.name);
        out.Field("title", experiment.title);
        out.Field("assumptions", experiment.assumptions);
        out.List("rows", experiment.rows, [&](const ReproduceRow& row) {
          out.Object([&] {
            out.Field("what", row.what);
            out.Field("paper", row.paper);
            out.Field("ours", row.ours);
            out.Field("unit", row.unit);
            out.Field("note", row.note);
          });
        });
        out.List("items", experiment.items, [&](const PaperItem& item) {
          out.Object([&] {
            out.Field("id", item.id);
            out.Field("shows", item.shows);
            out.Field("state", PaperItemWord(item.state));
            out.Field("answer", item.answer);
            out.Field("command", item.command);
          });
        });
        out.List("grids", experiment.grids, [&](const PaperGrid& grid) {
          out.Object([&] {
            out.Field("id", grid.id);
            out.Field("title", grid.title);
            out.Field("columns", grid.columns);
            out.Field("rows", grid.rows);
          });
        });
      });
    });
  });
}

}  // namespace sharewell::research
