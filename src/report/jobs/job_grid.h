// JobGrid: a table of jobs that keeps to a width: columns that say nothing are never shown, and
// where it is too wide, names are cut and the least important columns are left out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/text/table.h"

namespace sharewell::report {

class JobGrid {
 public:
  struct Column {
    std::string heading;
    Align align;
    int leave = 0;  // the highest is left out first; 0: never
  };

  // `names`: the column that names stand in.
  JobGrid(std::vector<Column> columns, std::size_t names);

  void Row(std::vector<std::string> cells);  // REQUIRES: as many as columns
  std::string Text(std::size_t width) const;

 private:
  std::size_t WidthOf(std::size_t column) const;

  std::vector<Column> columns_;
  std::size_t names_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sharewell::report
