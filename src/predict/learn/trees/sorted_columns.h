// Every feature's rows in ascending order, sorted once for all trees of a fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "predict/learn/table.h"

namespace sharewell::predict::learn {

class SortedColumns {
 public:
  // A row, and the place of its value among the feature's distinct values.
  struct Entry {
    std::uint32_t row;
    std::uint32_t rank;
  };
  static constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();

  // REQUIRES a table that passes Check().
  explicit SortedColumns(const Table& table);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return values_.size(); }
  // By value, equal values by row, missing values last.
  std::span<const Entry> Column(std::size_t feature) const {
    return std::span<const Entry>(entries_).subspan(feature * rows_, rows_);
  }
  // The distinct values, ascending: what a rank is a place in.
  std::span<const double> Values(std::size_t feature) const { return values_[feature]; }

 private:
  std::size_t rows_;
  std::vector<Entry> entries_;
  std::vector<std::vector<double>> values_;
};

}  // namespace sharewell::predict::learn
