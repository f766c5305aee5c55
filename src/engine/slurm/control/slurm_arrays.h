// SlurmArrays: gives the waiting tasks of arrays ids of their own, some at a time, so that each can
// be placed, and knows how many of an array may run at once as that stands now (ArrayTaskThrottle).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_jobs.h"

namespace sharewell::engine {

class SlurmArrays {
 public:
  SlurmArrays(SlurmBook& book, SlurmJobs& jobs) : book_(book), jobs_(jobs) {}

  // An update of one task of a pending array gives it an id of its own.
  core::Result<void> Split();
  // The last Split found an array that was new: its first tasks can be read at once.
  bool has_new() const { return has_new_; }
  // Somebody may have changed how many run at once: the terms of these jobs are made anew.
  core::Result<void> ReadLimits();
  // 0: it never had a bound, or it is no task of an array.
  int AtOnce(const SlurmJob& job) const;

 private:
  void AddLines(const SlurmKnown& known, const std::vector<std::int64_t>& tasks,
                std::vector<std::string>& lines, const std::string& note) const;
  void SetLimit(std::int64_t array, int limit);

  SlurmBook& book_;
  SlurmJobs& jobs_;
  std::map<std::int64_t, int> at_once_;  // of arrays that have or had a bound, by their id
  core::Seconds limits_read_;
  bool has_new_ = false;
};

}  // namespace sharewell::engine
