// StartTeller: finds now and then when the jobs that wait should start, for managers that show it
// to their users (ForeignQueue::ShowStarts), whether or not anybody looks at the server.
#pragma once

#include <condition_variable>
#include <thread>

#include "api/api.h"
#include "core/units.h"
#include "engine/foreign_queue.h"
#include "platform/mutex.h"

namespace sharewell::server {

class StartTeller {
 public:
  using Find = decltype(api::Studies::starts);

  // `queue` outlives it. What could not be found leaves what was shown before.
  StartTeller(engine::ForeignQueue& queue, Find find, core::Seconds every = core::Seconds(20));
  ~StartTeller();
  StartTeller(const StartTeller&) = delete;
  StartTeller& operator=(const StartTeller&) = delete;

 private:
  void Work();

  engine::ForeignQueue& queue_;
  const Find find_;
  const core::Seconds every_;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::server
