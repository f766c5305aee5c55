// Estimator: gives the loop what is believed of a job. In a simulation it errs on purpose; for the
// server it is the advisor (control/service/advisor.h).
#pragma once

#include "core/estimate.h"
#include "core/job/job.h"

namespace sharewell::control {

class Estimator {
 public:
  virtual ~Estimator() = default;
  virtual core::Estimate Believe(const core::Job& job) const = 0;  // when it is submitted
  virtual core::Estimate Measured(const core::Job& job) = 0;       // after it ran alone under watch
  virtual core::Estimate Told(const core::Job& job) const { return Believe(job); }  // of its step
};

}  // namespace sharewell::control
