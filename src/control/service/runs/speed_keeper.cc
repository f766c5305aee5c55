#include "control/service/runs/speed_keeper.h"

#include <algorithm>
#include <utility>

namespace sharewell::control {
namespace {

constexpr core::UnixMillis kKeepEvery = 60'000;
constexpr core::UnixMillis kKeepOfLife = 50;  // of a long life no oftener than so many times
constexpr core::Seconds kReadAgain{10};

}  // namespace

void SpeedKeeper::Hear(core::SpeedHistory& history, const core::JobRecord& job,
                       const engine::Heard& heard) const {
  for (const core::ToldMetric& metric : heard.metrics) history.Hear(metric);
  if (!heard.steps) return;
  const engine::StepCount& told = *heard.steps;
  // A pause ends what was counted as a new run does.
  const core::UnixMillis since = std::max(job.resumed.value_or(0), job.paused_at.value_or(0));
  history.Count({parts_.wall(told.first_at), told.first}, {parts_.wall(told.told_at), told.steps},
                since);
}

bool SpeedKeeper::Know(std::int64_t number, core::Seconds now) {
  {
    const platform::MutexLock lock(mutex_);
    if (kept_.contains(number)) return true;
  }
  if (now < read_again_) return false;
  auto stored = parts_.store.SpeedOf(number);
  if (!stored) {
    read_again_ = now + kReadAgain;
    return false;
  }
  const platform::MutexLock lock(mutex_);
  kept_[number] = {std::move(*stored).value_or(core::SpeedHistory()), parts_.wall(now)};
  return true;
}

void SpeedKeeper::Look(const LiveJob& job, const engine::Heard& heard, core::Seconds now,
                       std::vector<std::int64_t> beside) {
  const std::int64_t number = job.record.number;
  if (!Know(number, now)) return;
  const platform::MutexLock lock(mutex_);
  Kept& kept = kept_.at(number);
  Hear(kept.history, job.record, heard);
  const core::UnixMillis at = parts_.wall(now);
  kept.history.Look(at, std::move(beside));
  const auto begin = kept.history.Begin();
  if (!begin) return;
  const core::UnixMillis life = at - *begin;
  if (at - kept.stored < std::max(kKeepEvery, life / kKeepOfLife)) return;
  Keep(number, kept, at);
}

void SpeedKeeper::Keep(std::int64_t number, Kept& kept, core::UnixMillis now) {
  kept.stored = now;
  if (kept.history.Begin()) parts_.outbox.AddSpeed(number, kept.history);
}

std::optional<double> SpeedKeeper::End(const LiveJob& job, const engine::Heard& heard,
                                       core::Seconds now) {
  // Also of one that ends before it is looked at for the first time.
  if (!Know(job.record.number, now)) return std::nullopt;
  const platform::MutexLock lock(mutex_);
  Kept& kept = kept_.at(job.record.number);
  Hear(kept.history, job.record, heard);
  Keep(job.record.number, kept, kept.stored);
  return kept.history.PerSecond();
}

void SpeedKeeper::KeepAll() {
  const platform::MutexLock lock(mutex_);
  for (auto& [number, kept] : kept_) Keep(number, kept, kept.stored);
}

void SpeedKeeper::Forget(std::int64_t number) {
  const platform::MutexLock lock(mutex_);
  kept_.erase(number);
}

std::optional<core::SpeedHistory> SpeedKeeper::Of(std::int64_t number) const {
  const platform::MutexLock lock(mutex_);
  const auto found = kept_.find(number);
  return found == kept_.end() ? std::nullopt : std::optional(found->second.history);
}

}  // namespace sharewell::control
