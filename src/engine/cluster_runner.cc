#include "engine/cluster_runner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace sharewell::engine {

using core::Seconds;

namespace {

std::int64_t SteadyNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::chrono::steady_clock::time_point After(Seconds time) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                                std::clamp(time.value, 0.0, 1e6) * 1e9));
}

}  // namespace

ClusterRunner::ClusterRunner(Seconds origin, Seconds list_every)
    : origin_(origin), list_every_(list_every), began_(SteadyNs()), list_at_(origin + list_every) {}

Seconds ClusterRunner::Now() {
  return origin_ + Seconds(static_cast<double>(SteadyNs() - began_) / 1e9);
}

void ClusterRunner::Do(Command command) {
  {
    const platform::MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_all();
  WakeWork();
}

void ClusterRunner::Note(RunId id, std::string message) {
  {
    const platform::MutexLock lock(mutex_);
    events_.push_back(RunNote{id, std::move(message)});
  }
  changed_.notify_all();
}

void ClusterRunner::BeginWork() {
  thread_ = std::thread([this] { Work(); });
}

void ClusterRunner::EndWork() {
  {
    const platform::MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  WakeWork();
  if (thread_.joinable()) thread_.join();
}

bool ClusterRunner::CarryOut(ClusterControl& control) {
  std::vector<Command> commands;
  {
    const platform::MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (const Command& command : commands) command(control);
  return !commands.empty();
}

void ClusterRunner::EmitAll(std::vector<RunEvent> events, std::string problem) {
  {
    const platform::MutexLock lock(mutex_);
    problem_ = std::move(problem);
    std::move(events.begin(), events.end(), std::back_inserter(events_));
  }
  changed_.notify_all();
}

bool ClusterRunner::Ends() {
  const platform::MutexLock lock(mutex_);
  return ends_;
}

bool ClusterRunner::HasCommands() {
  const platform::MutexLock lock(mutex_);
  return !commands_.empty();
}

bool ClusterRunner::WaitForCommands(Seconds due, Seconds gather) {
  {
    platform::MutexLock lock(mutex_);
    const auto until = After(due - Now());
    while (!ends_ && commands_.empty()) {
      if (changed_.wait_until(lock, until) == std::cv_status::timeout) break;
    }
    if (ends_ || commands_.empty()) return !ends_;
  }
  return Rest(gather);
}

bool ClusterRunner::Rest(Seconds time) {
  platform::MutexLock lock(mutex_);
  const auto until = After(time);
  while (!ends_ && changed_.wait_until(lock, until) != std::cv_status::timeout) {
  }
  return !ends_;
}

void ClusterRunner::Start(const RunRequest& request) {
  Do([request](ClusterControl& control) { control.Start(request); });
}

void ClusterRunner::Stop(RunId id, const StopOrder& order) {
  Do([id, cancels = order.cancels](ClusterControl& control) {
    cancels ? control.Cancel(id) : control.Stop(id);
  });
}

void ClusterRunner::Forget(RunId id) {
  Do([id](ClusterControl& control) { control.Forget(id); });
}

void ClusterRunner::Expect(std::int64_t job) {
  Do([job](ClusterControl& control) { control.Expect(job); });
}

void ClusterRunner::CancelWaiting(std::int64_t job) {
  Do([job](ClusterControl& control) { control.CancelWaiting(job); });
}

std::string ClusterRunner::Problem() {
  const platform::MutexLock lock(mutex_);
  return problem_;
}

bool ClusterRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  for (;;) {
    if (const Seconds now = Now(); now >= list_at_) {
      list_at_ = now + list_every_;
      Do([now](ClusterControl& control) { control.List(now); });
    }
    platform::MutexLock lock(mutex_);
    const auto deadline = After((until ? std::min(*until, list_at_) : list_at_) - Now());
    while (events_.empty() && !woken_ && !ends_) {
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) break;
    }
    const bool in_time = !until || Now() < *until;
    if (events_.empty() && !woken_ && !ends_ && in_time) continue;  // a list is due
    woken_ = false;
    std::move(events_.begin(), events_.end(), std::back_inserter(out));
    events_.clear();
    return true;
  }
}

void ClusterRunner::Wake() {
  {
    const platform::MutexLock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

}  // namespace sharewell::engine
