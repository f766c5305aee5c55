// What `sharewell recommend` answers. Plain data for reports; absent is unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advice/recommend/cell.h"

namespace sharewell::advice::recommend {

struct Choice {
  std::string what;   // "gpu", "precision", "batch", "workers", "cores", "share"
  std::string value;  // "H200", "bf16", "128"
  core::Source source = core::Source::kPredicted;
  std::string from;  // where the figures behind it come from
  std::string why;   // one or two sentences
};

// Batches on the recommended GPU model in the recommended precision.
struct BatchAdvice {
  std::optional<std::int64_t> largest;      // whose memory bound fits; absent without a graph
  std::optional<core::Estimated<>> memory;  // bytes, at the largest
  std::array<std::optional<std::int64_t>, 4> best;  // by Goal
};

struct GpuAdvice {
  std::string gpu;
  std::optional<Cell> cell;  // the best for the goal; absent: see why_not
  std::optional<core::Estimated<>> joules, cost, shared;
  bool learnt = false;  // something was learnt or measured on this GPU model
  std::string why_not;
};

struct Neighbour {
  std::string name;
  double speed = 1;   // of this workload beside it
  double others = 1;  // of the other
};

// Whether the job should share its GPU.
struct SharingAdvice {
  std::string advice = "unknown";          // "yes", "perhaps", "no", "unknown"
  std::optional<core::Estimated<>> twice;  // speed of each of two such jobs on one GPU
  std::optional<bool> twice_fit;           // their memory bounds fit
  std::size_t neighbours = 0;              // measured workloads that it was tried beside
  std::size_t good = 0;                    // those beside which both keep kKeptBeside
  std::vector<Neighbour> best;             // of those, the ones with the largest sum of speeds
};
// The least speed that a job keeps beside others: a server's --max-slowdown of 1.25.
inline constexpr double kKeptBeside = 0.8;

struct Recommendation {
  std::string model;
  std::string workload;  // what it was measured as; empty: it was not
  Goal goal = Goal::kThroughput;
  Cell cell;
  std::optional<core::Estimated<>> joules, cost, shared;
  std::vector<Choice> choices;
  BatchAdvice batches;
  std::vector<GpuAdvice> gpus;  // the recommended one first
  SharingAdvice sharing;
  std::size_t measured = 0;  // cells that were measured of it
  std::vector<std::string> remarks;
};

}  // namespace sharewell::advice::recommend
