// WeekUse: the GPU hours that each user's ended runs took in the last seven days, for the limit
// gpu_hours_a_week. Kept by quarters of a day, of which the oldest counts as long as a part of it
// is in the week. It is stored with every end of a run, so a restart knows it whatever became of
// the records. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "control/service/jobs/job_board.h"
#include "core/metric.h"
#include "platform/mutex.h"

namespace sharewell::control {

inline constexpr std::string_view kWeekFacts = "week/";  // and the user's name
inline constexpr core::UnixMillis kWeek = 7 * 24 * 3600 * core::UnixMillis{1000};

class WeekUse {
 public:
  // A run on so many GPUs. `to` is now; what is older than a week is forgotten.
  void Add(const std::string& user, core::UnixMillis from, core::UnixMillis to, int gpus);
  double GpuHours(const std::string& user, core::UnixMillis now) const;

  // As it is stored. What is none of ours restores nothing: false.
  std::string TextOf(const std::string& user) const;
  bool Restore(const std::string& user, std::string_view text);

 private:
  using Quarters = std::map<std::int64_t, double>;  // by number since 1970: GPU seconds
  mutable platform::Mutex mutex_;
  std::map<std::string, Quarters> users_ SHAREWELL_GUARDED_BY(mutex_);
};

// With those of its runs under way.
double GpuHoursOfWeek(const WeekUse& week, const JobBoard& board, const std::string& user,
                      core::UnixMillis now);

}  // namespace sharewell::control
