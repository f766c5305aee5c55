// Worker: one thread that does what it is given, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "platform/mutex.h"

namespace sharewell::api {

class Worker {
 public:
  explicit Worker(std::size_t most_waiting);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Never waits. False: too much does already.
  bool Put(std::function<void()> work);
  void Stop();  // what is under way is done, what waits is dropped; later calls do nothing

 private:
  void Run();

  const std::size_t most_waiting_;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> waiting_ SHAREWELL_GUARDED_BY(mutex_);
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::api
