#include "engine/local/errands.h"

#include <system_error>
#include <thread>
#include <utility>

namespace sharewell::engine {

using platform::MutexLock;

Errands::Errands(std::function<void()> done) : done_(std::move(done)) {}

Errands::~Errands() {
  MutexLock lock(mutex_);
  over_.wait(lock, [&]() SHAREWELL_REQUIRES(mutex_) { return under_way_ == 0; });
}

void Errands::Run(const std::function<Then()>& work) {
  {
    const MutexLock lock(mutex_);
    ++under_way_;
  }
  try {
    std::thread([this, work] { Done(work()); }).detach();
  } catch (const std::system_error&) {
    Done(work());
  }
}

void Errands::Done(Then then) {
  // To the end under the lock: once it is given back, the object may go.
  const MutexLock lock(mutex_);
  if (then) then_.push_back(std::move(then));
  --under_way_;
  if (done_) done_();
  over_.notify_all();
}

void Errands::Finish() {
  std::vector<Then> todo;
  {
    const MutexLock lock(mutex_);
    todo.swap(then_);
  }
  for (const Then& then : todo) then();
}

void Errands::FinishAll() {
  while (true) {
    {
      MutexLock lock(mutex_);
      over_.wait(lock, [&]() SHAREWELL_REQUIRES(mutex_) { return under_way_ == 0; });
      if (then_.empty()) return;
    }
    Finish();
  }
}

}  // namespace sharewell::engine
