// JobBoard: the jobs as readers see them. The loop's thread puts records up; any thread reads.
// Holds all live jobs and the last of those that are over; older ones are in the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/job_record.h"

namespace sharewell::control {

using JobPtr = std::shared_ptr<const core::JobRecord>;

class JobBoard {
 public:
  explicit JobBoard(std::size_t most_over = 2000);

  void Put(core::JobRecord record);
  JobPtr Find(std::int64_t number) const;             // null: it is not here
  std::vector<JobPtr> Live() const;                   // by number
  std::vector<JobPtr> Over() const;                   // by number; the last ones alone
  std::map<core::Phase, std::size_t> Counts() const;  // of live jobs

 private:
  mutable std::mutex mutex_;
  std::size_t most_over_;
  std::map<std::int64_t, JobPtr> live_, over_;
};

}  // namespace sharewell::control
