// Tables without the columns that nobody could fill: no GPU, no GPU columns. For report/sweep*.cc
// and report/colocate*.cc.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {

// REQUIRES: as many cells in each row as columns.
inline Table KnownColumns(const std::vector<std::pair<std::string, Align>>& columns,
                          const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> kept;
  std::vector<std::pair<std::string, Align>> named;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row[c] != kUnknown && !row[c].empty();
    });
    if (!known) continue;
    kept.push_back(c);
    named.push_back(columns[c]);
  }
  Table table(named);
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(kept.size());
    for (const std::size_t c : kept) cells.push_back(row[c]);
    table.Row(std::move(cells));
  }
  return table;
}

}  // namespace sharewell::report
