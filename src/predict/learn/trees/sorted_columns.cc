#include "predict/learn/trees/sorted_columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sharewell::predict::learn {

SortedColumns::SortedColumns(const Table& table) : rows_(table.rows()) {
  entries_.reserve(rows_ * table.columns());
  values_.resize(table.columns());
  std::vector<std::pair<double, std::uint32_t>> present;
  std::vector<std::uint32_t> missing;
  for (std::size_t f = 0; f < table.columns(); ++f) {
    present.clear();
    missing.clear();
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const double value = table.Row(row)[f];
      if (std::isnan(value)) {
        missing.push_back(row);
      } else {
        present.emplace_back(value, row);
      }
    }
    std::sort(present.begin(), present.end());
    auto& values = values_[f];
    for (const auto& [value, row] : present) {
      if (values.empty() || values.back() < value) values.push_back(value);
      entries_.push_back({row, static_cast<std::uint32_t>(values.size() - 1)});
    }
    for (std::uint32_t row : missing) entries_.push_back({row, kMissing});
  }
}

}  // namespace sharewell::predict::learn
