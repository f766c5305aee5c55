#include "engine/live/live_work.h"

#include <algorithm>
#include <cmath>

namespace sharewell::engine {

using core::Seconds;

namespace {

// Each turn costs a decision, so progress alone makes one only when it says something.
constexpr double kWorthTelling = 0.05;
constexpr Seconds kTellEvery(5);

// What passed before its first steps were told, less what those take alone: they may come in lots.
// A checkpoint may be older than the last step that was told.
Seconds StartUp(Seconds passed, double steps, std::optional<double> steps_alone) {
  if (!steps_alone || *steps_alone <= 0) return passed;
  return std::max(passed - Seconds(std::max(steps, 0.0) / *steps_alone), Seconds(0));
}

}  // namespace

void LiveWork::Begin(Seconds now) {
  window_.Clear();
  if (steps_) steps_before_ = steps_->steps;
  steps_.reset();
  settled_ = now;
  rate_ = 0;
  SetDue();
}

void LiveWork::GoOn(Seconds now) {
  settled_ = now;
  SetDue();
}

void LiveWork::Resume(Seconds now) {
  window_.Clear();
  settled_ = now;
  rate_ = 0;
  SetDue();
}

void LiveWork::Rest(Seconds now) {
  attained_ += (now - settled_) * rate_;
  rate_ = 0;
  settled_ = now;
}

void LiveWork::Disturb() {
  window_.Clear();
  fresh_ = true;
}

void LiveWork::Hear(double steps, Seconds at, Seconds now, std::optional<Seconds> began,
                    bool works) {
  if (steps_) at = std::max(at, steps_->told_at);
  if (!steps_ && began) {
    at = std::max(at, *began);
    startup_ += StartUp(at - *began, steps - steps_before_, pace_.steps);
  }
  const bool anew = !steps_ || steps < steps_->first;
  steps_ = {.steps = steps,
            .told_at = at,
            .first = anew ? steps : steps_->first,
            .first_at = anew ? at : steps_->first_at};
  window_.Add(at, steps);
  if (!works) return;
  Settle(now, true);
  fresh_ = true;
  if (std::abs(rate_ - told_rate_) > kWorthTelling * told_rate_ || now - told_at_ >= kTellEvery) {
    due_ = true;
  }
}

Progress LiveWork::Report(core::JobId id, Seconds now) {
  Settle(now, false);
  told_at_ = now;
  told_rate_ = rate_;
  fresh_ = due_ = false;
  return {id, attained_, rate_, startup_};
}

void LiveWork::Settle(Seconds now, bool told_steps) {
  attained_ += (now - settled_) * rate_;
  settled_ = now;
  rate_ = pace_.rate;
  if (!steps_ || !pace_.steps || *pace_.steps <= 0 || pace_.rate <= 0) return;
  const double work_a_step = pace_.rate / *pace_.steps;
  if (told_steps) attained_ = Seconds(steps_->steps * work_a_step);
  if (const auto lately = window_.PerSecond()) rate_ = *lately * work_a_step;
}

}  // namespace sharewell::engine
