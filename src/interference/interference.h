// Interference: demands in, speeds out. One model for the simulator's world, the policies and the
// predictor. Pure; no state beyond its tables.
//
// The model, for job i beside n neighbours j, where k is the mean time of a kernel:
//
//   stretch_i  = 1 + g n + c sum dram_j + d sum sm_j^1.5 ln(1 + e k_j / k_i)
//   slowdown_i = ((1 - busy_i^4) (1 + a n)^4 + (busy_i stretch_i)^4)^(1/4)
//
// a and g are what a neighbour costs the host and the GPU whatever it does, c is bandwidth. d is
// waiting for the blocks of a neighbour's kernels to drain: a job of many short kernels (an LSTM)
// finds no SM free while a neighbour's long ones run, so it suffers most. The norm is the overlap
// of host and GPU: a loop whose host is the slower of the two does not feel a stretched GPU until
// that becomes the longer part. Where k is not known, wide kernels are taken for long ones
// (LikelyKernelTime).
//
// A job may be limited to a share s of the SMs. Its own kernels then take
//
//   own_i = 1 + w (sm_i / busy_i)^2 (1/s_i - 1)
//
// times as long, alone and beside others. Its neighbours gain: its SM activity is at most s, and a
// short kernel finds one of the SMs that it leaves free at once, so d is divided by 1 + h (1 -
// s_j).
//
// All speeds are relative to the job alone with all SMs.
//
// The coefficients below are those that `sharewell-lab train` fits (fit.h; docs/prediction.md has
// the command) to what was measured on an H200,
// data/h200/{pairs,pairs-2,triples,shares,groups,groups-2}.csv;
// research/evaluate/evaluate_pairs_test.cc holds them to it. Speeds of groups of which no
// workload was fitted are told with a mean absolute error of 0.064 (a constant: 0.134; one
// measurement repeats within 0.039). What it errs by for a workload that was measured beside others
// is learnt in predict/colocation/colocation.h.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "core/demand.h"
#include "core/ids.h"
#include "core/units.h"
#include "interference/learnt_pairs.h"
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
  double host = 0.02296;       // a
  double neighbour = 0.08242;  // g
  double dram = 0.5929;        // c
  double wait = 1.317;         // d
  double length = 0.8774;      // e
  double narrow = 0.7754;      // w
  double room = 11.99;         // h
  // Standard deviation of log(measured speed / model): over the pairs, and over the triples.
  double residual = 0.1081;
  double residual_of_three = 0.1407;

  friend bool operator==(const Coefficients&, const Coefficients&) = default;
};

constexpr core::Ratio kSlowest = 0.05;  // nobody is modelled slower than this

// A resident with what depends on it and its share alone, worked out once for many speeds. Made by
// Interference::Prepare.
struct Contender {
  core::WorkloadId workload;
  core::Ratio contention;
  int percent;  // of the SMs
  bool known;   // what it demands
  core::Ratio busy;
  double host_part;  // 1 - busy^4
  core::Ratio dram;
  double own;         // its kernels take so much longer with its share
  core::Ratio alone;  // its speed alone with it
  double kernel;      // seconds
  double per_kernel;  // e / (its kernels' seconds with its share)
  double blocks;      // sm^1.5 of what it may use; 0: it is in nobody's way
  double room;        // that it leaves: 1 + h (1 - share)
};

// Speed of a job alone on a GPU with that share of its SMs, over its speed with all of them.
core::Ratio SpeedAlone(const core::Demand& demand, core::Ratio sm_share,
                       const Coefficients& coefficients = {});

// The mean time of a job's kernels with all SMs: what is known, else 300 us sm^2, at least 8 us.
// Where nobody's is known, speeds beside others err by 0.068 with it, 0.085 if all are taken for
// equally long, and 0.064 where they are known (research/evaluate/hidden_groups_test.cc).
core::Seconds LikelyKernelTime(const core::Demand& demand);

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

  // The same of residents that were prepared: with this model's coefficients.
  Contender Prepare(const Resident& resident) const;
  core::Ratio Speed(core::GpuModelId model, std::span<const Contender> residents,
                    std::size_t i) const;

  // True when nobody's speed had to be guessed: each is measured in this pair or has known demands.
  bool Knows(core::GpuModelId model, std::span<const Resident> residents) const;

  // False where two of them were seen to run out of memory together.
  bool Fits(core::GpuModelId model, std::span<const Resident> residents) const;

  // True where the speeds are those of a pair that was measured with these shares.
  bool Measured(core::GpuModelId model, std::span<const Resident> residents) const;
  const Coefficients& coefficients() const { return coefficients_; }
  // Those two were measured, in this very run: from now on that counts instead of the pair table
  // and the model, whatever a job's contention is believed to be. Speeds and shares as PairTable
  // has them; any workloads.
  void Learn(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b, core::Ratio speed_a,
             core::Ratio speed_b, core::Ratio sm_share_a, core::Ratio sm_share_b);

 private:
  double Slowdown(std::span<const Contender> residents, std::size_t i) const;

  PairTable pairs_;
  LearntPairs learnt_;  // before pairs_
  Coefficients coefficients_;
};

}  // namespace sharewell::interference
