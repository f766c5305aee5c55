// Advisor: what the server believes of jobs, and the policy that stands on it. `server` implements
// it with the predictor, the stored profiles and the measured pairs.
//
// The loop's thread alone.
#pragma once

#include <optional>

#include "core/demand.h"
#include "core/estimate.h"
#include "core/ids.h"
#include "core/job/job_record.h"
#include "core/job/profile.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "policy/policy.h"

namespace sharewell::control {

class Advisor {
 public:
  virtual ~Advisor() = default;
  // Whether it could ever run here: a profile or GPU model that is not there, more GPUs or GPU
  // memory than any has. A usage error says what there is.
  virtual core::Result<void> Check(const core::Account& user,
                                   const core::Submission& submission) = 0;
  // The measured profile it names, what earlier runs of the same by the same user were seen to need
  // here, what the submission brings itself, or an assumption; the first of these that there is.
  virtual core::Needs NeedsOf(const core::Account& user, const core::Submission& submission) = 0;
  // The same of one that runs and has told of its step: REQUIRES record.told. What runs of that
  // very step were measured to need, else what its operators are predicted to.
  virtual core::Needs NeedsTold(const core::JobRecord& record) { return record.believed; }
  // The same for each GPU model of the cluster, with the user's own bounds.
  virtual core::Estimate EstimateOf(const core::JobRecord& record) = 0;
  virtual core::WorkloadId WorkloadOf(const core::Account& user,
                                      const core::Submission& submission) = 0;
  // Knows all pairs learnt so far. Stays valid until it is asked for again.
  virtual const policy::Policy& Policy() = 0;
  // What a pair was measured to do to each other: a Policy() asked for from now on knows it.
  virtual void LearnShared(const core::SharedRun& run) = 0;
  // How fast a job with that demand is alone with that share of the SMs, over all of them. Absent:
  // nobody knows.
  virtual std::optional<core::Ratio> SpeedWithShare(const core::Demand& /*demand*/,
                                                    core::Ratio /*sm_share*/) {
    return std::nullopt;
  }
  // A run that has ended well, with what was seen of it; the next of its kind is believed to need
  // the same. `seen` may be without any figure.
  virtual void LearnRun(const core::JobRecord& record, const core::Profile& seen) = 0;
  // The same of one whose step was read after it had ended, and which LearnRun had without it.
  virtual void LearnStep(const core::JobRecord& /*record*/, const core::Profile& /*seen*/) {}
};

}  // namespace sharewell::control
