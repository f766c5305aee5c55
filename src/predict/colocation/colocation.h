// ColocationModel: how fast each of the jobs goes that share one GPU under MPS, with bounds that
// hold nine times in ten.
//
//   speed = the interference model's (interference/interference.h), its coefficients fitted to what
//           was measured (interference/fit.h)
//         + what that was seen to err by for this workload beside others (seat.h), kriged
//         (kriging.h)
//
// So a workload that was measured beside others profits from its own measurements, and one that was
// not gets the model's answer and wider bounds. A co-location that was measured itself, with the
// same shares of the SMs, is answered with the measurement.
//
// The bounds come from the errors on groups of which no workload was fitted, by name
// (learn/conformal.h, in speeds instead of logarithms), in units of how sure the kriging is: once
// with their measured demands, once with demands as they are predicted, or that err so. The figures
// are held by research/evaluate/evaluate_pairs_test.cc.
//
// A value; pure. Fitted to one GPU model: names mean nothing on another, so leave them empty there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/interval.h"
#include "core/result.h"
#include "core/units.h"
#include "interference/interference.h"
#include "predict/colocation/kriging.h"
#include "predict/colocation/seat.h"
#include "predict/learn/judge/conformal.h"

namespace sharewell::predict {

// Jobs measured together, or one alone with a share of the SMs, and how fast each was over its rate
// alone with all SMs. What is above 1 is noise.
struct Colocation {
  std::vector<Resident> residents;
  std::vector<core::Ratio> speeds;
  // The same residents as they are predicted by somebody who has not seen their like, to calibrate
  // by; empty: demands that err by kDemandError stand in.
  std::vector<Resident> predicted = {};
};

// Spread (as of a logarithm) that predicted demands are taken to have around measured ones.
constexpr double kDemandError = 0.15;

// Groups that were measured several times, with the same jobs in the same order and the same rates
// alone, as one with their mean speeds; where the first of them stands.
std::vector<Colocation> Averaged(std::span<const Colocation> groups);

// How much wider the bounds are than the errors on groups of which nothing was seen: another
// sitting, on another machine, errs in its own way.
constexpr double kWiderBounds = 1.15;

// Coefficients of the interference model, by all of them.
interference::Coefficients FitCoefficients(std::span<const Colocation> groups);

// Speed of residents[i] beside the others by the interference model alone.
core::Ratio ModelledSpeed(std::span<const Resident> residents, std::size_t i,
                          const interference::Coefficients& coefficients = {});

// What the interference model tells of each job of a group when its coefficients were fitted
// without any workload of that group, by name.
struct UnseenSpeeds {
  std::vector<core::Ratio> of_measured;   // by measured demands
  std::vector<core::Ratio> of_predicted;  // by predicted ones
};
// One for each group, in order; empty for jobs alone and for groups with a job that has no name.
std::vector<UnseenSpeeds> PredictUnseen(std::span<const Colocation> groups);

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
  // Each named workload once for each share and for each way it was alone: from one sitting to the
  // next the host's part of a step differs.
  std::vector<Resident> residents;
  std::vector<Measured> groups;
  learn::Conformal of_measured;   // bounds where demands are measured
  learn::Conformal of_predicted;  // and where one or more are predicted
  interference::Coefficients coefficients;
  double repeat = 0;  // nine in ten repeats of a co-location lie this near to their mean
  friend bool operator==(const ColocationState&, const ColocationState&) = default;
};

class ColocationModel {
 public:
  // From interference::kSlowest to 1; measured: this very co-location was.
  using Speed = core::Estimated<core::Ratio>;

  // Averages repeats, fits the coefficients and calibrates. An error where there is no co-location
  // of two or more, or one has not as many speeds as residents or a speed that is no number above
  // 0, or a job alone has all SMs.
  static core::Result<ColocationModel> Fit(std::span<const Colocation> groups);
  // The same, with what PredictUnseen tells of each group: for many fits in a row.
  static core::Result<ColocationModel> Fit(std::span<const Colocation> groups,
                                           std::span<const UnseenSpeeds> unseen);
  // Without bounds (they are the median).
  static core::Result<ColocationModel> FitUncalibrated(std::span<const Colocation> groups);
  // REQUIRES a state as Fit leaves it: places that are there, a speed for each.
  static core::Result<ColocationModel> From(ColocationState state);

  // In the residents' order; 1 for one that is alone with all SMs.
  std::vector<Speed> Speeds(std::span<const Resident> residents) const;

  const ColocationState& state() const { return state_; }

 private:
  struct Guess {
    double speed = 1;
    double spread = 1;
  };
  Guess GuessAt(std::span<const Resident> residents, std::size_t i) const;
  // In the residents' order; empty where they were not measured together with these shares.
  std::vector<core::Ratio> Found(std::span<const Resident> residents) const;
  core::Result<void> Calibrate(std::span<const Colocation> groups,
                               std::span<const UnseenSpeeds> unseen);

  ColocationState state_;
  std::vector<Seat> seats_;
  Kriging errors_;
};

}  // namespace sharewell::predict
