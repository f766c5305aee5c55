#include "api/worker.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace sharewell::api {

Worker::Worker(std::size_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { Run(); }) {}

Worker::~Worker() { Stop(); }

bool Worker::Put(std::function<void()> work, std::shared_ptr<http::Meter> user) {
  {
    const platform::MutexLock lock(mutex_);
    if (stop_ || count_ >= most_waiting_) return false;
    auto queue = std::find_if(waiting_.begin(), waiting_.end(),
                              [&](const Queue& one) { return one.user == user; });
    if (queue == waiting_.end()) queue = waiting_.insert(queue, Queue{std::move(user), {}});
    queue->works.push_back(std::move(work));
    ++count_;
  }
  wake_.notify_one();
  return true;
}

void Worker::Stop() {
  std::deque<Queue> dropped;  // goes without the lock
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
    dropped.swap(waiting_);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::Run() {
  for (;;) {
    std::function<void()> work;
    std::shared_ptr<http::Meter> user;
    {
      platform::MutexLock lock(mutex_);
      wake_.wait(lock, [this]() SHAREWELL_REQUIRES(mutex_) { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      Queue queue = std::move(waiting_.front());
      waiting_.pop_front();
      user = queue.user;
      work = std::move(queue.works.front());
      queue.works.pop_front();
      --count_;
      if (!queue.works.empty()) waiting_.push_back(std::move(queue));
    }
    const http::MeteredBlock metered(user.get());
    try {
      work();
    } catch (const std::exception&) {
      // Whoever waited for it is told by the answer that never came (Responder).
    }
  }
}

}  // namespace sharewell::api
