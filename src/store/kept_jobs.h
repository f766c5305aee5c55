// KeptJobs: how much the records of jobs that are over take in a store, by user, and what removes
// the oldest. For a thread of its own beside the server: it reads whole users.
//
// One thread uses one object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::store {

class KeptJobs {
 public:
  virtual ~KeptJobs() = default;
  // About the bytes of jobs that ended at or after `since`, by user; `since` becomes a moment after
  // the last of them.
  virtual core::Result<std::map<std::string, core::Bytes>> EndedSince(core::UnixMillis& since) = 0;
  // Removes the oldest of that user's jobs that are over until the rest takes at most `most`. What
  // the rest takes.
  virtual core::Result<core::Bytes> KeepNewest(const std::string& user, core::Bytes most) = 0;
};

// `where` as store::Open has it.
core::Result<std::unique_ptr<KeptJobs>> OpenKeptJobs(const std::string& where);

}  // namespace sharewell::store
