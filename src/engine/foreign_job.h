// A job as a user of a cluster's manager submitted it there (sbatch, kubectl).
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/job/job_record.h"
#include "core/result.h"
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

// Behind what is said already; where that is much, it is enough.
inline void AddRemark(std::string& remark, const std::string& words) {
  constexpr std::size_t kMuch = 600;
  if (words.empty() || remark.size() > kMuch) return;
  remark += (remark.empty() ? "" : "; ") + words;
}

// What was predicted of it goes into it, or a remark why nothing was. False: that is not known yet.
inline bool PutNeeds(std::optional<core::Result<core::Needs>> needs, ForeignJob& job) {
  if (!needs) return false;
  if (*needs) {
    job.asked.needs = **std::move(needs);
  } else {
    AddRemark(job.remark, "what it needs is not known: " + needs->error().message);
  }
  return true;
}

}  // namespace sharewell::engine
