#include "predict/repeats.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/numbers/statistics.h"

namespace sharewell::predict {
namespace {

auto KeyOf(const Row& row) {
  return std::tuple(row.workload, row.query.graph->batch, row.precision_word,
                    static_cast<int>(row.query.run.optimizer), row.query.workers,
                    row.query.gpu->name, row.query.graph->ops.size());
}

template <class Of>
std::optional<double> Middle(std::span<const Row> rows, const std::vector<std::size_t>& group,
                             Of of) {
  std::vector<double> values;
  for (const std::size_t i : group) {
    if (const std::optional<double> value = of(rows[i])) values.push_back(*value);
  }
  return core::Quantile(values, 0.5);
}

}  // namespace

std::vector<Row> MergeRepeats(std::span<const Row> rows) {
  std::map<decltype(KeyOf(rows[0])), std::vector<std::size_t>> by_key;
  for (std::size_t i = 0; i < rows.size(); ++i) by_key[KeyOf(rows[i])].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  groups.reserve(by_key.size());
  for (auto& [key, group] : by_key) groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.back() < b.back(); });
  std::vector<Row> out;
  out.reserve(groups.size());
  for (const auto& group : groups) {
    Row one = rows[group.back()];
    for (std::size_t f = 0; f < kFigures; ++f) {
      one.measured[f] = Middle(rows, group, [f](const Row& row) { return row.measured[f]; });
    }
    const auto number = [&](auto of) {
      return *Middle(rows, group, [&](const Row& row) { return std::optional<double>(of(row)); });
    };
    one.query.host_time = number([](const Row& row) { return row.query.host_time; });
    one.weight = number([](const Row& row) { return row.weight; });
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace sharewell::predict
