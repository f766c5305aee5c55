// A job as a user of a cluster's manager submitted it there (sbatch, kubectl).
#pragma once

#include <string>

#include "core/job_record.h"
#include "core/units.h"
#include "engine/run_request.h"

namespace sharewell::engine {

struct ForeignJob {
  core::Account user;  // never an admin
  core::Submission asked;
  core::UnixMillis submitted = 0;
  std::string remark;  // what of its words was not understood, and what to do; empty: nothing
  StartTerms terms = {};

  friend bool operator==(const ForeignJob&, const ForeignJob&) = default;
};

}  // namespace sharewell::engine
