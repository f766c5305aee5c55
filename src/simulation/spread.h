// What a figure comes to over several seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulation/summary.h"

namespace sharewell::simulation {

// One seed's results, in the order of the policies.
struct SeedResults {
  std::uint64_t seed = 1;
  std::vector<Summary> results;
};

struct Spread {
  double mean = 0;
  double deviation = 0;             // sample standard deviation; 0 for one seed
  std::vector<double> values = {};  // by seed
};

// Absent where a seed does not have the figure: a mean over some of them would be another figure.
std::optional<Spread> SpreadOf(const std::vector<std::optional<double>>& values);

}  // namespace sharewell::simulation
