// Errands: work that may have to wait for somebody else (a daemon that starts, a directory of
// users), each on a thread of its own. What follows from it is done on the owner's thread.
//
// They are few at a time, so that no pool is needed.
#pragma once

#include <condition_variable>
#include <functional>
#include <vector>

#include "platform/mutex.h"

namespace sharewell::engine {

class Errands {
 public:
  using Then = std::function<void()>;

  // `done` is called on an errand's thread when Finish has something to do; it must not wait.
  explicit Errands(std::function<void()> done);
  // Waits for those under way. What would have followed from them is not done any more.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // `work` runs at once, elsewhere; what it returns runs in a later Finish, and may be empty. Where
  // there can be no further thread, the work is done before this returns.
  void Run(const std::function<Then()>& work);
  // Does what follows from errands that are over.
  void Finish();
  // Waits until all are over, then as Finish, until none is left. For tests and for who stops.
  void FinishAll();

 private:
  void Done(Then then);

  const std::function<void()> done_;
  platform::Mutex mutex_;
  std::condition_variable_any over_;
  int under_way_ SHAREWELL_GUARDED_BY(mutex_) = 0;
  std::vector<Then> then_ SHAREWELL_GUARDED_BY(mutex_);
};

}  // namespace sharewell::engine
