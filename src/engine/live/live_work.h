// LiveWork: the work that a job has done, and how fast it goes on: by the steps that it tells;
// between them, and where it tells none, by its pace alone. One thread.
#pragma once

#include <optional>

#include "core/ids.h"
#include "core/units.h"
#include "engine/engine.h"
#include "engine/live/lone_pace.h"
#include "engine/live/step_window.h"

namespace sharewell::engine {

class LiveWork {
 public:
  void SetPace(const LonePace& pace) { pace_ = pace; }
  const LonePace& pace() const { return pace_; }
  core::Seconds attained() const { return attained_; }
  const std::optional<StepCount>& steps() const { return steps_; }

  // A run of it begins, which has told no steps.
  void Begin(core::Seconds now);
  // A run that an earlier server began, or that was on its way out and stays.
  void GoOn(core::Seconds now);
  // It is about to run again, after a pause.
  void Resume(core::Seconds now);
  // It does no work from now on.
  void Rest(core::Seconds now);
  // Its run never was: what it was taken to do, it did not.
  void Undo(core::Seconds attained) { attained_ = attained; }
  // Its cores, or its neighbours, are others from now on: paces measured before say nothing.
  void Disturb();

  // It has told that it had so many steps at `at`. `began`: when its run did; absent: not known.
  // `works`: it is not on its way out.
  void Hear(double steps, core::Seconds at, core::Seconds now, std::optional<core::Seconds> began,
            bool works);

  // Who counted the steps of the last Hear: the watcher inside of it, or the job itself.
  void SetByWatcher(bool by_watcher) {
    if (steps_) steps_->by_watcher = by_watcher;
  }

  // More is known than was told, and whether that is worth a turn.
  bool fresh() const { return fresh_; }
  bool due() const { return due_; }
  void SetFresh() { fresh_ = true; }
  void SetDue() { fresh_ = due_ = true; }
  Progress Report(core::JobId id, core::Seconds now);

 private:
  void Settle(core::Seconds now, bool told_steps);

  LonePace pace_;
  std::optional<StepCount> steps_;  // in this run
  double steps_before_ = 0;         // in the one before, when it left
  StepWindow window_;
  core::Seconds attained_, settled_;  // work done, and when that was worked out
  core::Seconds startup_;             // of all its runs, up to their first steps
  core::Ratio rate_ = 0;
  core::Seconds told_at_;
  core::Ratio told_rate_ = 0;
  bool fresh_ = false, due_ = false;
};

}  // namespace sharewell::engine
