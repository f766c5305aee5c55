// TurnWatch: whether a turn is under way and for how long, how many decisions were made, and how
// long turns take. The loop's thread, but for BusyFor.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

#include "control/sampling/sampler.h"
#include "core/units.h"

namespace sharewell::control {

class TurnWatch {
 public:
  // The clock must outlive it.
  explicit TurnWatch(Clock& clock) : clock_(clock) {}

  void SetBusy(bool busy);                       // false: the loop waits for something to happen
  std::optional<core::Seconds> BusyFor() const;  // any thread; absent: it waits

  // One decision, which is made `now`, took so long since what happened was heard of.
  void OnDecision(core::Seconds now, core::Seconds took);
  // The turn is over `now`; taking what was asked, before it, took so long.
  void OnTurn(core::Seconds now, core::Seconds asked_took);
  std::int64_t decided() const { return decided_; }
  // Of the last 1,000 turns: taking what was asked, deciding, storing, doing; waiting is not in it.
  core::Seconds P99() const;

 private:
  Clock& clock_;
  std::atomic<std::int64_t> busy_since_{-1};  // by the clock's Steady, in ns; negative: it waits
  core::Seconds heard_;                       // when the turn under way had heard what happened
  std::deque<double> turns_;                  // the last ones' seconds
  std::int64_t decided_ = 0;
};

}  // namespace sharewell::control
