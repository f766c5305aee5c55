#include "predict/learn/table.h"

#include <cmath>
#include <utility>

namespace sharewell::predict::learn {

void Table::Add(std::span<const double> row, double target, std::string group) {
  SHAREWELL_CHECK(row.size() == columns());
  values.insert(values.end(), row.begin(), row.end());
  targets.push_back(target);
  if (!weights.empty()) weights.push_back(1);
  if (!group.empty() || !groups.empty()) groups.push_back(std::move(group));
}

Table Table::Subset(std::span<const std::size_t> wanted) const {
  Table out;
  out.features = features;
  out.values.reserve(wanted.size() * columns());
  out.targets.reserve(wanted.size());
  for (std::size_t i : wanted) {
    SHAREWELL_CHECK(i < rows());
    const auto row = Row(i);
    out.values.insert(out.values.end(), row.begin(), row.end());
    out.targets.push_back(targets[i]);
    if (!weights.empty()) out.weights.push_back(weights[i]);
    if (!groups.empty()) out.groups.push_back(groups[i]);
  }
  return out;
}

core::Result<void> Table::Check() const {
  if (rows() == 0) return core::UsageError("there are no rows to learn from: give measurements");
  if (columns() == 0) return core::UsageError("the rows to learn from have no features");
  if (columns() > kMostFeatures) {
    return core::UsageError("the rows to learn from have {} features; there may be {}", columns(),
                            kMostFeatures);
  }
  if (values.size() != rows() * columns()) {
    return core::UsageError("{} rows of {} features need {} values; there are {}", rows(),
                            columns(), rows() * columns(), values.size());
  }
  if (!weights.empty() && weights.size() != rows()) {
    return core::UsageError("{} rows have {} weights: give one each, or none", rows(),
                            weights.size());
  }
  if (!groups.empty() && groups.size() != rows()) {
    return core::UsageError("{} rows have {} groups: give one each, or none", rows(),
                            groups.size());
  }
  for (std::size_t i = 0; i < rows(); ++i) {
    if (!std::isfinite(targets[i])) {
      return core::UsageError("row {}: the target is no finite number: leave the row out", i + 1);
    }
    if (!std::isfinite(Weight(i)) || Weight(i) <= 0) {
      return core::UsageError("row {}: weight {} is not above 0: leave the row out", i + 1,
                              Weight(i));
    }
    for (std::size_t f = 0; f < columns(); ++f) {
      if (std::isinf(Row(i)[f])) {
        return core::UsageError("row {}: feature {} is infinite: leave it unknown (NaN) instead",
                                i + 1, features[f]);
      }
    }
  }
  return {};
}

}  // namespace sharewell::predict::learn
