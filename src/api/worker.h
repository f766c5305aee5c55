// Worker: one thread that does what it is given, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

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
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stop_ = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::api
