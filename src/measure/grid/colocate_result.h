// What a co-location came to: each workload alone, and each set together. Plain data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/job/profile.h"
#include "measure/grid/sweep_result.h"

namespace sharewell::measure {

// Two jobs complement each other when each keeps this of its speed alone: Ryu and Chun calls a pair
// so whose epoch times "remained almost equivalent".
inline constexpr core::Ratio kKeepsSpeed = 0.95;

struct AloneRun {
  std::string name;  // ColocatedWorkload::name
  CellState state = CellState::kWaiting;
  std::string why;
  RunSummary summary;
  std::optional<RunSummary> again;  // at the end
  // Beside others: its part of the SMs, and its GPU, where they were given.
  std::optional<int> sm_percent, gpu;
  // What together is divided by: the rate, of both runs where there are two. Absent: no rate.
  std::optional<double> Rate() const;
  std::optional<core::Ratio> Drift() const;  // second over first, less 1
};

enum class Packing {
  kComplementary,  // each keeps kKeepsSpeed
  kSharing,
  kConflicting,  // one of n is slower than if they took turns: below 1/n
  kDoesNotFit,   // out of memory together
  kUnknown,
};

struct ColocatedSet {
  std::vector<std::size_t> members;  // indices of AloneRun
  CellState state = CellState::kWaiting;
  std::string why;
  bool fits = true;                           // false: out of memory, though each ran alone
  std::vector<RunSummary> runs;               // one for each member
  std::vector<std::optional<double>> speeds;  // raw: a little above 1 is noise
  std::optional<double> summed_utilisation;   // of each alone: GPU busy, or CPU share without GPU
  Packing fit = Packing::kUnknown;
};

struct ColocateResult {
  std::string name;
  std::string gpu;  // model; empty: what was measured is the host
  bool mps = false;
  int cores = 0;
  std::vector<AloneRun> alone;
  std::vector<ColocatedSet> groups;
  std::vector<std::string> notes;
  bool interrupted = false;
};

// Fills speeds, sums and fits from the runs. Pure.
void CompareWithAlone(ColocateResult& result);

}  // namespace sharewell::measure
