#include "api/fair_worker.h"

#include <unistd.h>

#include <exception>
#include <tuple>
#include <utility>

namespace sharewell::api {

FairWorker::FairWorker(std::size_t threads, std::size_t most_waiting, int nice)
    : most_waiting_(most_waiting) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, nice] { Run(nice); });
}

FairWorker::~FairWorker() { Stop(); }

FairWorker::Taken FairWorker::Put(const std::string& user, std::size_t most,
                                  std::function<void()> work) {
  {
    const platform::MutexLock lock(mutex_);
    if (stop_ || waiting_ >= most_waiting_) return Taken::kTooManyOfAll;
    const auto place = lines_.try_emplace(user).first;
    Line& line = place->second;
    if (line.waiting.size() + (line.busy ? 1 : 0) >= most) {
      if (line.waiting.empty() && !line.busy) lines_.erase(place);
      return Taken::kTooManyOfTheirs;
    }
    if (line.waiting.empty() && !line.busy) turns_.push_back(user);
    line.waiting.push_back(std::move(work));
    ++waiting_;
  }
  wake_.notify_one();
  return Taken::kYes;
}

std::size_t FairWorker::CountOf(const std::string& user) const {
  const platform::MutexLock lock(mutex_);
  const auto line = lines_.find(user);
  return line == lines_.end() ? 0 : line->second.waiting.size() + (line->second.busy ? 1 : 0);
}

void FairWorker::Stop() {
  std::map<std::string, Line> dropped;  // goes without the lock
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
    dropped.swap(lines_);
    turns_.clear();
    waiting_ = 0;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void FairWorker::Run(int nice) {
  // Of this thread alone, on Linux. Without it the work is only less polite.
  if (nice != 0) std::ignore = ::nice(nice);
  platform::MutexLock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this]() SHAREWELL_REQUIRES(mutex_) { return stop_ || !turns_.empty(); });
    if (stop_) return;
    const std::string user = std::move(turns_.front());
    turns_.pop_front();
    Line& line = lines_[user];
    std::function<void()> work = std::move(line.waiting.front());
    line.waiting.pop_front();
    line.busy = true;
    --waiting_;
    lock.unlock();
    try {
      work();
    } catch (const std::exception&) {
      // Whoever waited for it is told by the answer that never came (Responder).
    }
    work = {};
    lock.lock();
    if (stop_) return;
    const auto done = lines_.find(user);
    done->second.busy = false;
    if (done->second.waiting.empty()) {
      lines_.erase(done);
    } else {
      turns_.push_back(user);
      wake_.notify_one();
    }
  }
}

}  // namespace sharewell::api
