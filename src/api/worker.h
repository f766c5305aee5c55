// Worker: one thread that does what it is given: in order for each user, and users in turn, so that
// nobody's many requests keep the others waiting. What it takes of CPU time is charged to the user.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "http/meter.h"
#include "platform/mutex.h"

namespace sharewell::api {

class Worker {
 public:
  explicit Worker(std::size_t most_waiting);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Never waits. False: too much does already. `user`: who it is for; null: nobody in particular.
  bool Put(std::function<void()> work, std::shared_ptr<http::Meter> user = nullptr);
  void Stop();  // what is under way is done, what waits is dropped; later calls do nothing

 private:
  void Run();

  const std::size_t most_waiting_;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  struct Queue {
    std::shared_ptr<http::Meter> user;
    std::deque<std::function<void()>> works;
  };
  std::deque<Queue> waiting_ SHAREWELL_GUARDED_BY(mutex_);  // by user, in turn; none is empty
  std::size_t count_ SHAREWELL_GUARDED_BY(mutex_) = 0;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::api
