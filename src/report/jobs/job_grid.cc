#include "report/jobs/job_grid.h"

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "report/jobs/job_rows.h"

namespace sharewell::report {
namespace {

// Of a name: what it has where there is room, what it keeps until columns are left out for it, and
// what it keeps in any case.
constexpr std::size_t kMostName = 28, kUsualName = 18, kLeastName = 8;
constexpr std::size_t kBetweenColumns = 2;

}  // namespace

JobGrid::JobGrid(std::vector<Column> columns, std::size_t names)
    : columns_(std::move(columns)), names_(names) {}

void JobGrid::Row(std::vector<std::string> cells) {
  SHAREWELL_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::size_t JobGrid::WidthOf(std::size_t column) const {
  std::size_t width = DisplayWidth(columns_[column].heading);
  for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[column]));
  return width;
}

std::string JobGrid::Text(std::size_t width) const {
  std::vector<std::size_t> kept;
  std::size_t others = 0;  // the width of all but the names
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool says =
        std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return !row[c].empty(); });
    if (!says && c != names_) continue;
    kept.push_back(c);
    if (c != names_) others += WidthOf(c) + kBetweenColumns;
  }
  const std::size_t whole = std::min(WidthOf(names_), kMostName);
  while (others + std::min(whole, kUsualName) > width) {
    const auto least = std::max_element(kept.begin(), kept.end(), [&](auto a, auto b) {
      return columns_[a].leave < columns_[b].leave;
    });
    if (columns_[*least].leave == 0) break;
    others -= WidthOf(*least) + kBetweenColumns;
    kept.erase(least);
  }
  const std::size_t room = width > others ? width - others : 0;
  std::vector<std::string> names;
  for (const auto& row : rows_) names.push_back(row[names_]);
  names =
      CutNames(names, std::clamp(room, std::min(whole, kLeastName), std::max(whole, kLeastName)));
  std::vector<std::pair<std::string, Align>> headings;
  for (const std::size_t c : kept) headings.emplace_back(columns_[c].heading, columns_[c].align);
  Table table(headings);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::vector<std::string> cells;
    for (const std::size_t c : kept) cells.push_back(c == names_ ? names[r] : rows_[r][c]);
    table.Row(std::move(cells));
  }
  return table.Text(width);
}

}  // namespace sharewell::report
