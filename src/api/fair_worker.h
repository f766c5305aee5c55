// FairWorker: a few threads that do what they are given, one thing of each user at a time, users in
// turn: nobody waits behind another user's queue. To the kernel they are of low priority unless
// told otherwise, because what they do is long, and the server's other threads have short answers
// to give.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "platform/mutex.h"

namespace sharewell::api {

class FairWorker {
 public:
  FairWorker(std::size_t threads, std::size_t most_waiting, int nice = 10);
  ~FairWorker();
  FairWorker(const FairWorker&) = delete;
  FairWorker& operator=(const FairWorker&) = delete;

  enum class Taken { kYes, kTooManyOfTheirs, kTooManyOfAll };
  // Never waits. `most`: of this user's, waiting or under way.
  Taken Put(const std::string& user, std::size_t most, std::function<void()> work);
  std::size_t CountOf(const std::string& user) const;  // waiting or under way
  void Stop();  // what is under way is done, what waits is dropped; later calls do nothing

 private:
  struct Line {
    std::deque<std::function<void()>> waiting;
    bool busy = false;  // one of this user's is under way
  };
  void Run(int nice);

  const std::size_t most_waiting_;
  mutable platform::Mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Line> lines_ SHAREWELL_GUARDED_BY(mutex_);
  std::deque<std::string> turns_ SHAREWELL_GUARDED_BY(mutex_);  // users who wait and are not busy
  std::size_t waiting_ SHAREWELL_GUARDED_BY(mutex_) = 0;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // the last: they use all of the above
};

}  // namespace sharewell::api
