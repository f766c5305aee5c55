// Interference: demands in, speeds out. One model for the simulator's world, the policies and the
// predictor. Pure; no state beyond its tables.
//
// The model, for a job beside n neighbours:
//
//   slowdown = 1 + a n + busy (b S^4 + c sum of neighbours' dram),  S = 1 - product of (1 - sm)
//
// a is what a neighbour costs whatever it does; b is waiting behind nearly full SMs, S being how
// full the neighbours keep them if they do so independently; c is bandwidth. a, b and c were fitted
// by non-negative least squares on the 57 pairs measured under MPS on an H200
// (data/h200/pairs.csv): mean absolute error of the speed 0.075 on those
// (min(1, 1/sum of busy): 0.115). The 26 triples (data/h200/triples.csv) chose between ways to
// add neighbours up, and judge it: 0.097, without bias (min(1, 1/sum of busy): 0.136). So do the
// 45 pairs of a later sitting (data/h200/pairs-2.csv), over 53 workloads: 0.078. A fit to both
// sittings gains little there and loses on the triples, so the coefficients were left.
// study/simulation/scenario_test.cc (pairs) and study/prediction/evaluate/triples_test.cc hold
// these figures. What it errs by for jobs of a kind is learnt in predict/colocation/colocation.h.
#pragma once

#include <span>
#include <utility>

#include "core/demand.h"
#include "core/ids.h"
#include "core/units.h"
#include "interference/pair_table.h"

namespace sharewell::interference {

// One job on a GPU.
struct Resident {
  core::WorkloadId workload;             // to look measured pairs up
  const core::Demand* demand = nullptr;  // on this GPU model
  core::Ratio contention =
      1;                     // scales its slowdown beyond 1: what is believed to differ from usual
  core::Ratio sm_share = 1;  // of the GPU's SMs, at most
};

struct Coefficients {
  double neighbour = 0.087;
  double sm = 1.597;
  double dram = 0.702;
  // Standard deviation of log(measured speed / model): over the pairs, and over the triples.
  double residual = 0.132;
  double residual_of_three = 0.245;
};

constexpr core::Ratio kSlowest = 0.05;  // nobody is modelled slower than this

class Interference {
 public:
  Interference() = default;
  explicit Interference(PairTable pairs, Coefficients coefficients = {})
      : pairs_(std::move(pairs)), coefficients_(coefficients) {}

  // Speed of residents[i] beside the others on one GPU of `model`: measured where they are exactly
  // two and the pair was measured, else modelled. 1 when alone.
  core::Ratio Speed(core::GpuModelId model, std::span<const Resident> residents,
                    std::size_t i) const;

  // True when nobody's speed had to be guessed: each is measured in this pair or has known demands.
  bool Knows(core::GpuModelId model, std::span<const Resident> residents) const;

  // False where two of them were seen to run out of memory together.
  bool Fits(core::GpuModelId model, std::span<const Resident> residents) const;

  bool Measured(core::GpuModelId model, std::span<const Resident> residents) const;
  const Coefficients& coefficients() const { return coefficients_; }

 private:
  PairTable pairs_;
  Coefficients coefficients_;
};

}  // namespace sharewell::interference
