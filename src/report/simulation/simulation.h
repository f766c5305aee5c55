// What `sharewell simulate` has to say: the run, and one summary for each policy, in the order
// given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/simulation/simulate.h"

namespace sharewell::report {

struct SimulationReport {
  std::string trace;     // as given
  std::string cluster;   // as given
  std::string machines;  // in words: "8 H200, 4 A100-80GB on 3 nodes"
  std::uint64_t seed = 1;
  std::string belief;     // as given
  std::string durations;  // as given
  std::vector<std::string> notes;
  std::vector<study::Summary> results;
};

}  // namespace sharewell::report
