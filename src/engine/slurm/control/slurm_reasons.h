// SlurmReasons: shows users in squeue why their jobs wait: in the job's comment (`squeue -o %k`),
// as Slurm 22.05 lets nobody write another field that squeue prints. A job whose user has written a
// comment is left alone; that nobody's comment is overwritten who writes one meanwhile is seen to
// by job_submit.lua. The line that places a job takes it back.
//
// Each change is a request to slurmctld, so that some are sent at a time, those first that were not
// shown for longest, and none of a job more often than once in a while.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"

namespace sharewell::engine {

// By which job_submit.lua, too, tells our words from a user's.
inline constexpr std::string_view kShownReason = "[sharewell] ";
// In quotes, or not.
bool IsShownReason(std::string_view comment);

class SlurmReasons {
 public:
  static constexpr core::Seconds kEvery{5}, kOfOneEvery{30};
  static constexpr std::size_t kMostAtOnce = 25;

  explicit SlurmReasons(SlurmBook& book) : book_(book) {}

  // Of what SlurmControlOptions::reasons say some, if it is time.
  core::Result<void> Send();

 private:
  struct Shown {
    std::string text;
    bool sent = false;
    std::optional<core::Seconds> at;  // something was sent
  };
  bool MayShow(std::int64_t job, Shown& shown) const;

  SlurmBook& book_;
  std::map<std::int64_t, Shown> reasons_;  // by job
  core::Seconds again_;
};

}  // namespace sharewell::engine
