#include "report/reproduce/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/reproduce/page.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

// Below this a note's column is no use: it goes over the width instead.
constexpr std::size_t kLeastNote = 20;

std::string RowsTable(const std::vector<study::ReproduceRow>& rows, std::size_t width) {
  std::vector<std::pair<std::string, Align>> columns = {
      {"what", Align::kLeft}, {"paper", Align::kRight}, {"ours", Align::kRight}};
  Table plain(columns);
  for (const auto& row : rows) {
    plain.Row(
        {row.what, ExperimentFigure(row.paper, row.unit), ExperimentFigure(row.ours, row.unit)});
  }
  if (std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.note.empty(); })) {
    return plain.Text();
  }
  const std::size_t at = plain.Width() + 2;
  const std::size_t room = std::max(width - std::min(width, at), kLeastNote);
  columns.emplace_back("note", Align::kLeft);
  Table table(columns);
  for (const auto& row : rows) {
    std::string note = Wrapped(row.note, room, 0);
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

std::string GridText(const study::PaperGrid& grid, std::size_t width) {
  std::vector<std::pair<std::string, Align>> columns;
  for (const std::string& column : grid.columns) columns.emplace_back(Plain(column), Align::kLeft);
  Table table(columns);
  for (const auto& row : grid.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(Plain(cell));
    table.Row(std::move(cells));
  }
  return fmt::format("\n{}\n\n{}", Wrapped(grid.id + ": " + Plain(grid.title), width, 2),
                     table.Text());
}

std::string ItemsText(const std::vector<study::PaperItem>& items, std::size_t width) {
  if (items.empty()) return "";
  std::string out = "\nevery table and figure of the paper:\n";
  for (const study::PaperItem& item : items) {
    std::string text = fmt::format("{} ({}): {}. {}", item.id, item.shows,
                                   PaperItemWord(item.state), Plain(item.answer));
    if (!item.command.empty()) text += " Command: " + item.command;
    out += Wrapped(text, width, 4) + '\n';
  }
  return out;
}

}  // namespace

std::string ExperimentsTable(const std::vector<study::Experiment>& experiments, std::size_t width) {
  std::string out;
  for (const study::Experiment& experiment : experiments) {
    if (!out.empty()) out += '\n';
    out += fmt::format("{}: {}\n\n", experiment.name, experiment.title);
    out += RowsTable(experiment.rows, width);
    for (const study::PaperGrid& grid : experiment.grids) out += GridText(grid, width);
    if (!experiment.assumptions.empty()) out += '\n';
    for (const std::string& assumption : experiment.assumptions) {
      out += Wrapped("assumed: " + assumption, width, 9) + '\n';
    }
    out += ItemsText(experiment.items, width);
  }
  return out;
}

std::string ExperimentsJson(const std::vector<study::Experiment>& experiments) {
  Json json;
  json["schema"] = kSchema;
  json["experiments"] = Json::array();
  for (const study::Experiment& experiment : experiments) {
    Json rows = Json::array();
    for (const study::ReproduceRow& row : experiment.rows) {
      rows.push_back({{"what", row.what},
                      {"paper", OrNull(row.paper)},
                      {"ours", OrNull(row.ours)},
                      {"unit", row.unit},
                      {"note", row.note}});
    }
    Json items = Json::array();
    for (const study::PaperItem& item : experiment.items) {
      items.push_back({{"id", item.id},
                       {"shows", item.shows},
                       {"state", PaperItemWord(item.state)},
                       {"answer", item.answer},
                       {"command", item.command}});
    }
    Json grids = Json::array();
    for (const study::PaperGrid& grid : experiment.grids) {
      grids.push_back(
          {{"id", grid.id}, {"title", grid.title}, {"columns", grid.columns}, {"rows", grid.rows}});
    }
    json["experiments"].push_back({{"name", experiment.name},
                                   {"title", experiment.title},
                                   {"assumptions", experiment.assumptions},
                                   {"rows", std::move(rows)},
                                   {"items", std::move(items)},
                                   {"grids", std::move(grids)}});
  }
  return Document(json);
}

}  // namespace sharewell::report
