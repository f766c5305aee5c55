// Estimate: what we believe a job needs. The only knowledge of a job's needs that a policy has.
#pragma once

#include <optional>
#include <vector>

#include "core/demand.h"
#include "core/ids.h"
#include "core/job/profile.h"
#include "core/source.h"
#include "core/units.h"

namespace sharewell::core {

// The job alone on one GPU model.
struct ModelEstimate {
  Ratio rate = 1;  // its speed there over its speed on the cluster's first (reference) model;
                   // 0: it does not run there
  Demand demand;

  friend bool operator==(const ModelEstimate&, const ModelEstimate&) = default;
};

struct Estimate {
  std::vector<ModelEstimate> on;    // by GpuModelId
  Bytes gpu_memory_upper;           // 95 % bound, a GPU
  Ratio cores_upper = 1;            // 95 % bound of the cores it can use, over the median
  Ratio host_memory_upper = 1;      // 95 % bound of host memory, over the median
  std::optional<Seconds> duration;  // alone on the reference model, with enough cores
  CpuCurve cpu_curve;               // empty: throughput rises linearly up to demand.cpu_cores
  Ratio contention = 1;             // how much more than usual it suffers from neighbours
  Sources sources;
  bool guessed = false;  // by its script's last run alone (Needs::guessed)

  const ModelEstimate& On(GpuModelId model) const { return on[model.index()]; }
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// Share of full throughput that a job reaches on `cores` cores a GPU.
Ratio Throughput(const CpuCurve& curve, double wanted, double cores);

// The fewest whole cores a GPU that keep at least `share` of full throughput.
double CoresFor(const CpuCurve& curve, double wanted, Ratio share);

}  // namespace sharewell::core
