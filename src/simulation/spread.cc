#include "simulation/spread.h"

#include <cmath>

namespace sharewell::simulation {

std::optional<Spread> SpreadOf(const std::vector<std::optional<double>>& values) {
  if (values.empty()) return std::nullopt;
  Spread spread;
  for (const auto& value : values) {
    if (!value) return std::nullopt;
    spread.values.push_back(*value);
    spread.mean += *value / static_cast<double>(values.size());
  }
  if (values.size() == 1) return spread;
  double squares = 0;
  for (const double value : spread.values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

}  // namespace sharewell::simulation
