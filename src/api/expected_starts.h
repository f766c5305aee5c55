// ExpectedStarts: when the jobs that wait should start, as it was last found. Found anew on a
// thread of its own, and only when somebody asks and the queue is not as it was: a server that
// nobody looks at forecasts nothing, and one that everybody looks at spends a fifth of a core on
// it at most.
//
// Any thread. What is not known, or was found too long ago, is absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "api/worker.h"
#include "control/service/view/event_hub.h"
#include "core/metric.h"
#include "core/result.h"
#include "platform/mutex.h"

namespace sharewell::api {

using Starts = std::map<std::int64_t, core::UnixMillis>;  // by the job's number

struct ExpectedStartsOptions {
  core::Seconds fresh{10};     // a queue that did not change is played again after so long
  core::Seconds oldest{30};    // what was found longer ago is not told
  double rest = 4;             // times what one took, before the next
  core::Seconds patience{.1};  // with what takes or rests longer whoever asks is told the last one
};

class ExpectedStarts {
 public:
  using Find = std::function<core::Result<Starts>()>;

  // Events tell that the queue has changed; they must outlive it. Without `find` nothing is known.
  ExpectedStarts(const control::EventHub& events, Find find,
                 const ExpectedStartsOptions& options = {});

  // Calls `then` once: now, or on its own thread once what waits now is in what was found. After
  // Stop it may never be called.
  void WhenKnown(std::function<void()> then);
  std::optional<core::UnixMillis> Of(std::int64_t number) const;
  Starts All() const;
  void Stop();  // what is under way is done

 private:
  using Clock = std::chrono::steady_clock;

  // When one is to be found; absent: what is there will do, or has to.
  std::optional<Clock::time_point> Next() const SHAREWELL_REQUIRES(mutex_);
  void Work();  // on its own thread
  void FindAnew();

  const control::EventHub& events_;
  const Find find_;
  const ExpectedStartsOptions options_;
  mutable platform::Mutex mutex_;
  Starts starts_ SHAREWELL_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> found_ SHAREWELL_GUARDED_BY(mutex_);
  std::int64_t event_ SHAREWELL_GUARDED_BY(mutex_) = 0;  // the last one when it was found
  core::Seconds took_ SHAREWELL_GUARDED_BY(mutex_);
  bool working_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> asked_ SHAREWELL_GUARDED_BY(mutex_);
  Worker worker_;  // the last: it uses all of the above
};

}  // namespace sharewell::api
