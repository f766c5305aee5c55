#include "engine/local/log_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "platform/clock/wall_clock.h"

namespace sharewell::engine {
namespace {

constexpr int kRest = 50;  // times as long as it worked: hundreds of thousands of jobs take seconds

}  // namespace

LogKeeper::LogKeeper(std::string state, std::function<bool(std::int64_t job)> live,
                     const engine::LogRetention& kept, core::Seconds every)
    : state_(std::move(state)), live_(std::move(live)), kept_(kept), every_(every), thread_([this] {
        Work();
      }) {}

LogKeeper::~LogKeeper() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LogKeeper::Work() {
  using std::chrono::steady_clock;
  while (!stop_) {
    const auto begin = steady_clock::now();
    engine::RemoveOldLogs(state_, kept_, platform::UnixNow(), live_, stop_);
    const std::chrono::duration<double> took = steady_clock::now() - begin;
    const std::chrono::duration<double> rest(std::max(every_.value, took.count() * kRest));
    platform::MutexLock lock(mutex_);
    wake_.wait_for(lock, rest, [this] { return stop_.load(); });
  }
}

}  // namespace sharewell::engine
