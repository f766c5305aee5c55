// ColocationModel: how fast each of the jobs goes that share one GPU under MPS, with bounds that
// hold nine times in ten.
//
//   speed = the interference model's (interference/interference.h)
//         + what that was seen to err by at seats like this one (seat.h), kriged (kriging.h)
//
// So a workload that was measured beside others profits from its own measurements, one that was not
// from those of workloads with like demands, and one like nothing measured gets the model's answer
// and wide bounds. A co-location that was measured itself is answered with the measurement.
//
// The bounds come from the errors on workloads that were left out by name, a twelfth at a time
// (learn/conformal.h, in speeds instead of logarithms), in units of how sure the kriging is: once
// with their measured demands, once with demands that err as predicted ones do. The figures are
// held by study/prediction/evaluate/evaluate_pairs_test.cc.
//
// A value; pure. Fitted to one GPU model: names mean nothing on another, so leave them empty there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "predict/colocation/kriging.h"
#include "predict/colocation/seat.h"
#include "predict/learn/judge/conformal.h"

namespace sharewell::predict {

// Jobs measured together, and how fast each was over its rate alone. What is above 1 is noise.
struct Colocation {
  std::vector<Resident> residents;
  std::vector<core::Ratio> speeds;
};

// Spread (as of a logarithm) that predicted demands are taken to have around measured ones.
constexpr double kDemandError = 0.15;

// The demand and step times exp(`error` N(0, 1)), each figure with its own draw; shares stay below
// 1, and SMs are not busier than the GPU.
Resident Perturbed(Resident resident, double error, std::uint64_t seed);

// All that the answers follow from.
struct ColocationState {
  struct Measured {
    std::vector<std::size_t> who;  // places in residents, ascending
    std::vector<core::Ratio> speeds;
    int times = 1;  // that it was measured; speeds are the mean
    friend bool operator==(const Measured&, const Measured&) = default;
  };
  std::vector<Resident> residents;  // each named workload once
  std::vector<Measured> groups;
  learn::Conformal of_measured;   // bounds where demands are measured
  learn::Conformal of_predicted;  // and where one or more are predicted
  double repeat = 0;  // nine in ten repeats of a co-location lie this near to their mean
  friend bool operator==(const ColocationState&, const ColocationState&) = default;
};

class ColocationModel {
 public:
  struct Speed {
    core::Ratio p05 = 1, p50 = 1, p95 = 1;  // ascending, from interference::kSlowest to 1
    bool measured = false;                  // this very co-location was
  };

  // Averages repeats, and calibrates. An error where there is no co-location of two or more, or one
  // has not as many speeds as residents or a speed that is no number above 0.
  static core::Result<ColocationModel> Fit(std::span<const Colocation> groups);
  // Without bounds (p05 and p95 are p50): for many fits in a row.
  static core::Result<ColocationModel> FitUncalibrated(std::span<const Colocation> groups);
  // REQUIRES a state as Fit leaves it: places that are there, a speed for each.
  static core::Result<ColocationModel> From(ColocationState state);

  // In the residents' order; 1 for one that is alone.
  std::vector<Speed> Speeds(std::span<const Resident> residents) const;

  const ColocationState& state() const { return state_; }

 private:
  struct Guess {
    double speed = 1;
    double spread = 1;
  };
  Guess GuessAt(std::span<const Resident> residents, std::size_t i) const;
  const ColocationState::Measured* Find(std::span<const Resident> residents,
                                        std::vector<std::size_t>& places) const;
  core::Result<void> Calibrate();

  ColocationState state_;
  std::vector<Seat> seats_;
  Kriging errors_;
};

}  // namespace sharewell::predict
