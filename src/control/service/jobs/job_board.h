// JobBoard: the jobs as readers see them. The loop's thread puts records up; any thread reads.
// Holds all live jobs and the last of those that are over, by number and by bytes; older ones are
// in the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/job/job_record.h"
#include "platform/mutex.h"

namespace sharewell::control {

using JobPtr = std::shared_ptr<const core::JobRecord>;

// About what it takes in memory; commands and environments may be megabytes.
std::size_t BytesOf(const core::Submission& job);

class JobBoard {
 public:
  explicit JobBoard(std::size_t most_over = 2000,
                    std::size_t most_over_bytes = std::size_t{64} << 20);

  void Put(core::JobRecord record);
  // Hears of every record before it is put up, on the thread that puts it. Before the first Put.
  void OnPut(std::function<void(const core::JobRecord&)> hears) { hears_ = std::move(hears); }
  JobPtr Find(std::int64_t number) const;  // null: it is not here
  std::vector<JobPtr> Live() const;        // by number
  // Those of them that `takes`, newest first, at most `most`, numbers below `below` alone. `takes`
  // must not wait. With many in the queue a page of them takes the time of a page.
  std::vector<JobPtr> NewestLive(std::size_t most, std::optional<std::int64_t> below,
                                 const std::function<bool(const core::JobRecord&)>& takes) const;
  std::vector<JobPtr> Over() const;                   // by number; the last ones alone
  std::map<core::Phase, std::size_t> Counts() const;  // of live jobs

  // How a job stands, or ended: also of older ones that somebody has looked up in the store.
  // Absent: only the store knows.
  std::optional<core::Phase> PhaseOf(std::int64_t number) const;
  void Remember(std::int64_t number, core::Phase ended) const;  // REQUIRES: it is over

 private:
  mutable platform::Mutex mutex_;
  const std::size_t most_over_, most_over_bytes_;
  std::function<void(const core::JobRecord&)> hears_ = {};
  std::size_t over_bytes_ SHAREWELL_GUARDED_BY(mutex_) = 0;
  mutable std::map<std::int64_t, core::Phase> looked_up_ SHAREWELL_GUARDED_BY(mutex_);
  std::map<core::Phase, std::size_t> counts_ SHAREWELL_GUARDED_BY(mutex_);  // of live_
  std::map<std::int64_t, JobPtr> live_ SHAREWELL_GUARDED_BY(mutex_), over_
      SHAREWELL_GUARDED_BY(mutex_);
};

}  // namespace sharewell::control
