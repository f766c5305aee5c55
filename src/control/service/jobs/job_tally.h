// JobTally: how many jobs ended, and how long they waited for their first start, since the server
// began. For /metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/job/job_record.h"
#include "core/units.h"

namespace sharewell::control {

struct JobTally {
  static constexpr std::array<double, 7> kWaitBounds = {1, 10, 60, 600, 3600, 21600, 86400};

  std::int64_t finished = 0, failed = 0, cancelled = 0;
  std::array<std::int64_t, kWaitBounds.size() + 1> waits{};  // the last: longer than all bounds
  core::Seconds waited;                                      // all of them together

  void CountEnd(core::Phase how) {
    if (how == core::Phase::kFinished) ++finished;
    if (how == core::Phase::kFailed) ++failed;
    if (how == core::Phase::kCancelled) ++cancelled;
  }
  void CountWait(core::Seconds wait) {
    std::size_t i = 0;
    while (i < kWaitBounds.size() && wait.value > kWaitBounds[i]) ++i;
    ++waits[i];
    waited += wait;
  }
};

}  // namespace sharewell::control
