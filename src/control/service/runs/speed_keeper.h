// SpeedKeeper: how fast each job that ran here stepped over its life, and what it told of itself,
// until the end of the job is stored. It is stored with that end, and now and then before: a server
// that is killed loses resolution of the last minutes and the metrics that were told in them, and
// no step. The loop's thread, but for Of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "control/service/jobs/live_jobs.h"
#include "control/service/record/outbox.h"
#include "core/job/speed_history.h"
#include "engine/live/live_engine.h"
#include "platform/mutex.h"
#include "store/job_store.h"

namespace sharewell::control {

class SpeedKeeper {
 public:
  // All must outlive it. `wall`: the time of day at a time of the runner's clock.
  struct Parts {
    store::JobStore& store;
    Outbox& outbox;
    std::function<core::UnixMillis(core::Seconds)> wall;
  };
  explicit SpeedKeeper(Parts parts) : parts_(std::move(parts)) {}

  // A job that runs, once a second: what it told, and who is beside it. Of one that an earlier
  // server knew, what that one stored goes on.
  void Look(const LiveJob& job, const engine::Heard& heard, core::Seconds now,
            std::vector<std::int64_t> beside);
  // A run of it has ended, and what was seen is owed to the store. Its steps a second over all of
  // its life; absent: unknown.
  std::optional<double> End(const LiveJob& job, const engine::Heard& heard, core::Seconds now);
  void KeepAll();  // the server ends
  void Forget(std::int64_t number);
  // So far. Absent: it has not run here, or its end is stored. Any thread.
  std::optional<core::SpeedHistory> Of(std::int64_t number) const;

 private:
  struct Kept {
    core::SpeedHistory history;
    core::UnixMillis stored = 0;  // when it last was
  };
  void Hear(core::SpeedHistory& history, const core::JobRecord& job,
            const engine::Heard& heard) const;
  // False: what an earlier server stored cannot be read now.
  bool Know(std::int64_t number, core::Seconds now);
  void Keep(std::int64_t number, Kept& kept, core::UnixMillis now);

  const Parts parts_;
  mutable platform::Mutex mutex_;
  std::map<std::int64_t, Kept> kept_ SHAREWELL_GUARDED_BY(mutex_);
  core::Seconds read_again_;  // the store did not answer
};

}  // namespace sharewell::control
