// Seat: one job among its neighbours on a GPU, as far as its speed there depends on it, and how
// alike two seats are.
//
// Two jobs are alike by the SMs they fill, the length of their step and how hard they drive their
// data loader (a loop that waits for its loader hardly notices a neighbour); two neighbourhoods by
// how full they keep the SMs together and by their number. Beyond that, measured neighbours of
// one's own name say more than others. Busy share and bandwidth stand in the interference model
// already; here they brought nothing. Lengths and weights were chosen by the held-out error over
// data/h200/ with exact and with perturbed demands, where it is flat: halving or doubling one of
// them changes that error (0.055 for workloads never seen) by 0.006 at most.
#pragma once

#include <span>
#include <vector>

#include "core/demand.h"
#include "core/profile.h"
#include "core/units.h"

namespace sharewell::predict {

// One job on a GPU, as it is alone there.
struct Resident {
  core::Workload workload;  // who it is, to profit from what was measured of it; no name: nobody
  core::Demand demand;
  core::Seconds step;      // of one step; 0: not known
  bool predicted = false;  // the figures are an estimate, not a measurement

  friend bool operator==(const Resident&, const Resident&) = default;
};

struct Seat {
  double sm = 0;
  double log_step = 0;
  double loader = 0;  // share of its workers' time that they work
  double full = 0;    // share of the SMs' time that some neighbour uses
  core::Workload job;
  std::vector<core::Workload> neighbours;
};

// The seat of residents[i]. REQUIRES i below their number.
Seat SeatOf(std::span<const Resident> residents, std::size_t i);

// Covariance of what the interference model errs by at two seats, in variances of one measurement's
// noise.
double Alike(const Seat& a, const Seat& b);

}  // namespace sharewell::predict
