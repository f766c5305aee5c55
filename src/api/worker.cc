#include "api/worker.h"

#include <exception>
#include <utility>

namespace sharewell::api {

Worker::Worker(std::size_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { Run(); }) {}

Worker::~Worker() { Stop(); }

bool Worker::Put(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void Worker::Stop() {
  std::deque<std::function<void()>> dropped;  // goes without the lock
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    dropped.swap(waiting_);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::Run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      work();
    } catch (const std::exception&) {
      // Whoever waited for it is told by the answer that never came (Responder).
    }
  }
}

}  // namespace sharewell::api
