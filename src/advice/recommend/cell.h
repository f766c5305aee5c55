// A cell: one way to run a workload (GPU model, precision, batch, loader workers, cores) and what
// was measured or predicted of it. Recommendations are choices among cells. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/interval.h"
#include "core/result.h"

namespace sharewell::advice::recommend {

// What is wanted: samples a second; the least money or the least energy for a sample; the most
// samples a second of a GPU that two such jobs share.
enum class Goal { kThroughput, kCost, kEnergy, kSharing };
inline constexpr Goal kGoals[] = {Goal::kThroughput, Goal::kCost, Goal::kEnergy, Goal::kSharing};
std::string_view NameOf(Goal goal);                   // "throughput", "cost", "energy", "sharing"
core::Result<Goal> ParseGoal(std::string_view text);  // an error lists them

struct Setting {
  std::string gpu;  // the catalogue's name
  std::string precision;
  std::int64_t batch = 0;
  int workers = 0;
  std::optional<double> cores = {};  // that it may run on; absent: all of a machine

  friend bool operator==(const Setting&, const Setting&) = default;
};

// Bounds of a measurement are those of its 95 % interval.
struct Cell {
  Setting setting;
  core::Estimated<> samples;                         // a second
  std::optional<core::Estimated<>> power = {};       // watts of the GPU's board
  std::optional<core::Estimated<>> memory = {};      // bytes of the GPU's memory
  std::optional<core::Estimated<>> cores_used = {};  // CPU seconds a second
  std::optional<core::Estimated<>> together = {};    // speed of each of two such jobs on one GPU
  std::string from = {};                             // "data/h200/cores.csv", "the graph"
  bool measured() const { return samples.source == core::Source::kObserved; }
};

// The user's: of an hour of one GPU of a model, and of an hour of one core.
struct Prices {
  std::map<std::string, double> gpu;  // by the catalogue's name
  std::optional<double> core;
};

// Joules of the GPU's board for a sample; absent where the power draw is unknown. Bounds are those
// of the two figures at their worst.
std::optional<core::Estimated<>> JoulesPerSample(const Cell& cell);
// Of a million samples, in the unit of the prices; absent where the GPU has none. Cores cost where
// they have a price and their number is known.
std::optional<core::Estimated<>> CostPerMillion(const Cell& cell, const Prices& prices);
// Samples a second of a GPU that two such jobs share; absent where nothing is known of that.
std::optional<core::Estimated<>> SharedSamples(const Cell& cell);

// How good a cell is for a goal: larger is better, twice as large is twice as good. Comparable for
// cells of one GPU model; of several where the goal is not cost or all have prices. Absent:
// unknown.
std::optional<double> Merit(Goal goal, const Cell& cell, const Prices& prices);

}  // namespace sharewell::advice::recommend
