#include "control/loop/step_pace.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sharewell::control {
namespace {

using core::Seconds;

constexpr std::size_t kFewestGaps = 5;  // of which at most two may be left out
constexpr std::size_t kMostTold = 128;  // remembered
constexpr Seconds kFinest(0.5);         // tellings that are closer than this are taken together
constexpr Seconds kHeardEvery(1);       // so late a telling may be heard of
constexpr Seconds kRarely(1.5);         // a gap that is longer has that error at both its ends,
constexpr double kRarelyWindows = 2;    // so a window of such gaps is so many times as long

struct Gap {
  double seconds = 0, steps = 0;
  double a_step() const { return seconds / steps; }
};

double MedianOf(std::vector<double> values) {
  const std::size_t n = values.size();
  std::sort(values.begin(), values.end());
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The usual ones of these, taken together.
struct Usual {
  std::size_t gaps = 0;
  double seconds = 0, steps = 0;
};

Usual UsualOf(const std::vector<Gap>& gaps) {
  std::vector<double> steps;
  steps.reserve(gaps.size());
  for (const Gap& gap : gaps) steps.push_back(gap.a_step());
  const double median = MedianOf(std::move(steps));
  Usual usual;
  for (const Gap& gap : gaps) {
    const double expected = median * gap.steps;
    const double off = std::abs(gap.seconds - expected);
    if (off > std::max(expected / 2, 1.5 * std::min(median, kHeardEvery.value))) continue;
    ++usual.gaps;
    usual.seconds += gap.seconds;
    usual.steps += gap.steps;
  }
  return usual;
}

}  // namespace

void StepPace::Clear() {
  told_.clear();
  newest_.reset();
  before_.reset();
}

void StepPace::Add(Seconds at, double steps) {
  if (!told_.empty() && steps <= told_.back().second) return;
  const std::size_t n = told_.size();
  if (n > 1 && at - told_[n - 2].first < kFinest) told_.pop_back();
  told_.emplace_back(at, steps);
  if (told_.size() > kMostTold) told_.pop_front();
}

void StepPace::Observe(Seconds at, double steps) {
  if (!told_.empty() && steps <= told_.back().second) return;
  Add(at, steps);
  const auto newest = WindowAfter(0);
  newest_ = newest ? std::optional(newest->rate) : std::nullopt;
  if (newest) gap_ = newest->gap;
  const auto before = newest ? WindowAfter(newest->gaps) : std::nullopt;
  before_ = before ? std::optional(before->rate) : std::nullopt;
}

std::optional<StepPace::Window> StepPace::WindowAfter(std::size_t skipped) const {
  std::vector<Gap> gaps;
  for (std::size_t i = told_.size(); i-- > 1;) {
    if (told_.size() - 1 - i < skipped) continue;
    gaps.push_back(
        {(told_[i].first - told_[i - 1].first).value, told_[i].second - told_[i - 1].second});
    if (gaps.back().seconds <= 0) gaps.pop_back();  // both were heard of at once
    if (gaps.size() < kFewestGaps) continue;
    const Usual usual = UsualOf(gaps);
    if (usual.gaps * 2 < gaps.size()) continue;  // nothing is usual yet
    const bool rarely = usual.seconds > kRarely.value * static_cast<double>(usual.gaps);
    if (usual.seconds < window_.value * (rarely ? kRarelyWindows : 1)) continue;
    return Window{usual.steps / usual.seconds, told_.size() - i - skipped,
                  Seconds(usual.seconds / static_cast<double>(usual.gaps))};
  }
  return std::nullopt;
}

}  // namespace sharewell::control
