// Which share of a GPU's SMs a start is given. A share holds until the next start, so it is chosen
// by who is there and by who is likely to come: long, wide kernels (a hog) leave room for short
// ones.
//
// Beside others: the one with which the speeds of all sum to most, among those that keep every
// bound. What differs by less than the model can tell goes to the larger share.
//
// On an idle GPU: all SMs, unless somebody is likely to be put beside it:
//   from the queue, where more jobs wait than GPUs are idle: the best partner among some of them;
//   from the recent rate of arrivals, where it takes the last idle GPU: those who run stand for
//   those who will come.
// It is narrower if the sum of speeds then gains 5 %, counted over the part of the job's life in
// which a partner is to be expected; the rest it pays for. A job that would then outlast all others
// pays for nobody: in a batch the end of all would hang on it (order/drain.h).
//
// Only where the mean time of a kernel is known, of the job and of somebody beside it: whether
// one's kernels are long against the other's is what it is about.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "policy/placement/placement.h"

namespace sharewell::policy {

// What a policy chooses from, largest first.
inline constexpr std::array<core::Ratio, 4> kSmShares{1, 0.8, 0.6, 0.4};

// Sums of speeds that differ by less are alike: the model errs by as much.
constexpr double kSpeedsAlike = 0.1;

// What a start of the job may be given, largest first. One alone where its user insists, where it
// runs already, where its kernels are not known, and where nothing would keep it to less.
std::span<const core::Ratio> SharesFor(const Context& context, const core::JobView& view,
                                       core::GpuModelId model);

struct IdleShare {
  core::Ratio sm_share = 1;
  core::JobId room_for;  // who is expected beside it; not valid: nobody, or whoever comes
};

// For a job that gets an idle GPU of that model to itself. O(1) of the queue is looked at.
IdleShare ShareOnIdle(const Context& context, const core::JobView& view, core::GpuModelId model);

}  // namespace sharewell::policy
