// Seat: one job among its neighbours on a GPU, as far as what the interference model errs by there
// depends on it, and how alike two seats are.
//
// What the model errs by for a workload carries over to the same workload beside others, the more
// so where the neighbourhood keeps the SMs as full and is as large; measured neighbours of one's
// own name say something too. Nothing carries over to workloads of another name: likeness by
// demands (SM activity, step, loader) made the error on workloads never seen larger than the
// model's alone, 0.074 to 0.076 against 0.071 over data/h200.
#pragma once

#include <span>
#include <vector>

#include "core/demand.h"
#include "core/job/profile.h"
#include "core/units.h"

namespace sharewell::predict {

// One job on a GPU, as it is alone there.
struct Resident {
  core::Workload workload;  // who it is, to profit from what was measured of it; no name: nobody
  core::Demand demand;
  core::Seconds step;        // of one step; 0: not known
  bool predicted = false;    // the figures are an estimate, not a measurement
  core::Ratio sm_share = 1;  // of the GPU's SMs that it is limited to; the demand is that with all

  friend bool operator==(const Resident&, const Resident&) = default;
};

struct Seat {
  double full = 0;   // share of the SMs' time that some neighbour uses
  double share = 1;  // of the SMs that the job is limited to
  core::Workload job;
  std::vector<core::Workload> neighbours;
};

// The seat of residents[i]. REQUIRES i below their number.
Seat SeatOf(std::span<const Resident> residents, std::size_t i);

// Covariance of what the interference model errs by at two seats, in variances of one measurement's
// noise.
double Alike(const Seat& a, const Seat& b);
// The same of a seat with itself, whoever sits there.
double Prior();

}  // namespace sharewell::predict
