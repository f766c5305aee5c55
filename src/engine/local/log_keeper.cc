#include "engine/local/log_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "platform/clock/wall_clock.h"

namespace sharewell::engine {
namespace {

constexpr double kKeepEvery = 0.5;  // seconds
constexpr int kRest = 50;  // times as long as it worked: hundreds of thousands of jobs take seconds

}  // namespace

LogKeeper::LogKeeper(std::string state, engine::LogOwners owners, const engine::LogRetention& kept,
                     core::Seconds every)
    : state_(std::move(state)),
      owners_(std::move(owners)),
      kept_(kept),
      every_(every),
      thread_([this] { Work(); }) {}

LogKeeper::~LogKeeper() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// Whether running jobs soon have no room, and logs of others could go.
bool LogKeeper::IsCrowded() const {
  if (owners_.ledger == nullptr) return false;
  const auto written = owners_.ledger->Written();
  double all = 0, kept_of_all = 0;
  for (const auto& [uid, bytes] : written) all += bytes;
  bool crowded = false;
  for (const auto& [uid, kept] : owners_.ledger->Kept()) {
    const auto it = written.find(uid);
    const double bytes = kept + (it == written.end() ? 0 : it->second);
    crowded = crowded || (kept > 0 && bytes > kept_.of_user(uid).value * kRoomInLogs);
    kept_of_all += kept;
  }
  all += kept_of_all;
  return crowded ||
         (kept_of_all > 0 && all > MostLogs(state_ + "/logs", kept_).value * kRoomInLogs);
}

void LogKeeper::Work() {
  using std::chrono::steady_clock;
  using Time = std::chrono::duration<double>;
  while (!stop_) {
    const auto begin = steady_clock::now();
    engine::RemoveOldLogs(state_, kept_, platform::UnixNow(), owners_, stop_);
    const auto end = steady_clock::now();
    const Time least = std::max(Time(kKeepEvery), Time((end - begin) * kRest));
    const Time most = std::max(Time(every_.value), least);
    platform::MutexLock lock(mutex_);
    while (!stop_ && steady_clock::now() - end < most) {
      const Time left = most - (steady_clock::now() - end);
      wake_.wait_for(lock, std::min(left, Time(kKeepEvery)), [this] { return stop_.load(); });
      if (steady_clock::now() - end >= least && IsCrowded()) break;
    }
  }
}

}  // namespace sharewell::engine
