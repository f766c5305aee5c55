// What `sharewell simulate` has to say: the run, and one summary for each policy, in the order
// given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/simulate.h"
#include "simulation/spread.h"

namespace sharewell::report {

struct SimulationReport {
  std::string trace;     // as given
  std::string cluster;   // as given
  std::string machines;  // in words: "8 H200, 4 A100-80GB on 3 nodes"
  std::uint64_t seed = 1;
  std::string belief;     // as given
  std::string durations;  // as given
  std::vector<std::string> notes;
  std::vector<simulation::Summary> results;  // of `seed`
  std::vector<simulation::SeedResults> seeds =
      {};  // where several were run: all of them, `seed` first
  // What the trace says of what its jobs train, and what the rest were taken to be; empty: nothing.
  std::string told = {};
};

// A figure of every policy in words. An indented label belongs to the one above it.
struct SummaryRow {
  std::string label;
  std::vector<std::string> cells;
};

// Each policy's summaries, one a seed.
using PolicyRuns = std::vector<const simulation::Summary*>;
std::vector<PolicyRuns> RunsOf(const SimulationReport& report);

}  // namespace sharewell::report
