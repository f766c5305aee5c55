#include "report/reproduce/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

// Below this a note's column is no use: it goes over the width instead.
constexpr std::size_t kLeastNote = 20;

std::string Figure(const std::optional<double>& value, const std::string& unit) {
  return Or(value, [&unit](double v) {
    if (unit == "ratio") return fmt::format("{:.2f} %", v * 100);
    if (unit == "times") return fmt::format("{:.3f}x", v);
    if (unit == "s") return Duration(core::Seconds(v));
    if (unit == "count") return fmt::format("{:.4g}", v);
    if (unit == "correlation") return fmt::format("r {:.2f}", v);
    if (unit == "rmsle") return fmt::format("{:.3f}", v);
    return fmt::format("{:.4g}{}{}", v, unit.empty() ? "" : " ", unit);
  });
}

std::string RowsTable(const std::vector<study::ReproduceRow>& rows, std::size_t width) {
  std::vector<std::pair<std::string, Align>> columns = {
      {"what", Align::kLeft}, {"paper", Align::kRight}, {"ours", Align::kRight}};
  Table plain(columns);
  for (const auto& row : rows) {
    plain.Row({row.what, Figure(row.paper, row.unit), Figure(row.ours, row.unit)});
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
    std::string paper = Figure(row.paper, row.unit);
    std::string ours = Figure(row.ours, row.unit);
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

std::string SideBySideText(const study::SideBySide& side) {
  std::vector<std::pair<std::string, Align>> columns = {{"", Align::kLeft}};
  for (const std::string& column : side.columns) columns.emplace_back(column, Align::kRight);
  Table table(columns);
  for (const auto& row : side.rows) {
    std::vector<std::string> cells = {row.what};
    for (const auto& value : row.values) cells.push_back(Figure(value, row.unit));
    table.Row(std::move(cells));
  }
  return fmt::format("{}\n\n{}\n", side.title, table.Text());
}

Json SideBySideJson(const study::SideBySide& side) {
  Json rows = Json::array();
  for (const auto& row : side.rows) {
    Json values = Json::array();
    for (const auto& value : row.values) values.push_back(OrNull(value));
    rows.push_back({{"what", row.what}, {"unit", row.unit}, {"values", std::move(values)}});
  }
  return {{"title", side.title}, {"columns", side.columns}, {"rows", std::move(rows)}};
}

}  // namespace

std::string ExperimentsTable(const std::vector<study::Experiment>& experiments, std::size_t width) {
  std::string out;
  for (const study::Experiment& experiment : experiments) {
    if (!out.empty()) out += '\n';
    out += fmt::format("{}: {}\n\n", experiment.name, experiment.title);
    for (const study::SideBySide& side : experiment.tables) out += SideBySideText(side);
    out += RowsTable(experiment.rows, width);
    if (!experiment.assumptions.empty()) out += '\n';
    for (const std::string& assumption : experiment.assumptions) {
      out += Wrapped("assumed: " + assumption, width, 9) + '\n';
    }
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
    json["experiments"].push_back({{"name", experiment.name},
                                   {"title", experiment.title},
                                   {"assumptions", experiment.assumptions},
                                   {"rows", std::move(rows)}});
    for (const study::SideBySide& side : experiment.tables) {
      json["experiments"].back()["tables"].push_back(SideBySideJson(side));
    }
  }
  return Document(json);
}

}  // namespace sharewell::report
