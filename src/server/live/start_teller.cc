#include "server/live/start_teller.h"

#include <chrono>
#include <utility>

namespace sharewell::server {

StartTeller::StartTeller(engine::ForeignQueue& queue, Find find, core::Seconds every)
    : queue_(queue), find_(std::move(find)), every_(every), thread_([this] { Work(); }) {}

StartTeller::~StartTeller() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StartTeller::Work() {
  for (;;) {
    {
      platform::MutexLock lock(mutex_);
      wake_.wait_for(lock, std::chrono::duration<double>(every_.value),
                     [this]() SHAREWELL_REQUIRES(mutex_) { return stop_; });
      if (stop_) return;
    }
    if (const auto starts = find_()) queue_.ShowStarts(*starts);
  }
}

}  // namespace sharewell::server
