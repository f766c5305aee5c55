// Interference: demands in, speeds out. One model for the simulator's world, the policies and the
// predictor. Pure; no state beyond its tables.
//
// The model, for job i beside n neighbours j, where k is the mean time of a kernel:
//
//   S         = 1 - product of (1 - sm_j)
//   stretch_i = 1 + b S^4 + c sum dram_j + d sum sm_j^g ln(1 + e k_j / k_i)
//   slowdown_i = a n + ((1 - busy_i^p) + (busy_i stretch_i)^p)^(1/p)
//
// a is what a neighbour costs whatever it does, b waiting behind nearly full SMs, c bandwidth. d is
// waiting for the blocks of a neighbour's kernels to drain: a job of many short kernels (an LSTM)
// finds no SM free while a neighbour's long ones run, so it suffers most. The p-norm is the overlap
// of host and GPU: a loop whose host is the slower of the two does not feel a stretched GPU until
// that becomes the longer part. Where k is not known of one of the two, they are taken for equal.
//
// A job may be limited to a share s of the SMs. Its own kernels then take
//
//   own_i = 1 + (sm_i / busy_i)^q (1/s_i - 1)
//
// times as long, alone and beside others. Its neighbours gain: its SM activity is at most s, and a
// short kernel finds one of the SMs that it leaves free at once, so d is divided by 1 + h (1 -
// s_j).
//
// All speeds are relative to the job alone with all SMs. What the model errs by for jobs of a kind
// is learnt in predict/colocation/colocation.h.
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
  double neighbour = 0.087;  // a
  double sm = 0.09;          // b
  double dram = 0.27;        // c
  double wait = 1.67;        // d
  double length = 0.74;      // e
  double width = 1.72;       // g
  double overlap = 2.6;      // p
  double own_width = 2.5;    // q
  double room = 20;          // h
  // Standard deviation of log(measured speed / model): over the pairs, and over the triples.
  double residual = 0.132;
  double residual_of_three = 0.245;
};

constexpr core::Ratio kSlowest = 0.05;  // nobody is modelled slower than this

// Speed of a job alone on a GPU with that share of its SMs, over its speed with all of them.
core::Ratio SpeedAlone(const core::Demand& demand, core::Ratio sm_share,
                       const Coefficients& coefficients = {});

class Interference {
 public:
  Interference() = default;
  explicit Interference(PairTable pairs, Coefficients coefficients = {})
      : pairs_(std::move(pairs)), coefficients_(coefficients) {}

  // Speed of residents[i] beside the others on one GPU of `model`, over its speed alone with all
  // SMs: measured where they are exactly two and the pair was measured with these shares, else
  // modelled. Alone with all SMs it is exactly 1; with fewer it can be less.
  core::Ratio Speed(core::GpuModelId model, std::span<const Resident> residents,
                    std::size_t i) const;

  // True when nobody's speed had to be guessed: each is measured in this pair or has known demands.
  bool Knows(core::GpuModelId model, std::span<const Resident> residents) const;

  // False where two of them were seen to run out of memory together.
  bool Fits(core::GpuModelId model, std::span<const Resident> residents) const;

  // True where the speeds are those of a pair that was measured with these shares.
  bool Measured(core::GpuModelId model, std::span<const Resident> residents) const;
  const Coefficients& coefficients() const { return coefficients_; }

 private:
  double Slowdown(std::span<const Resident> residents, std::size_t i) const;

  PairTable pairs_;
  Coefficients coefficients_;
};

}  // namespace sharewell::interference
