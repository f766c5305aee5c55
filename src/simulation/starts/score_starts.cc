#include "simulation/starts/score_starts.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "simulation/starts/tell_starts.h"

namespace sharewell::simulation {
namespace {

constexpr std::size_t kMostLookedAt = 1'000;  // of a trace's jobs: each plays the queue on
constexpr std::uint64_t kDraw = 0x5374617274;
constexpr core::Seconds kAWait{60};

}  // namespace

StartScorer::StartScorer(std::size_t jobs, std::uint64_t seed, double duration_error)
    : share_(static_cast<double>(kMostLookedAt) /
             static_cast<double>(std::max(jobs, kMostLookedAt))),
      seed_(seed),
      duration_error_(duration_error) {}

bool StartScorer::Chosen(core::JobId id) const {
  return share_ >= 1 || core::Uniform(core::HashOf({seed_, kDraw, id.value})) < share_;
}

core::Result<void> StartScorer::Look(const core::Snapshot& snapshot, const policy::Policy& policy,
                                     const interference::Interference& interference) {
  for (; seen_ < snapshot.job_count(); ++seen_) {
    const core::JobId id(seen_);
    if (snapshot.job(id).state != core::JobState::kWaiting || !Chosen(id)) continue;
    const auto told = TellStarts(snapshot, policy, interference, {},
                                 {.duration_error = duration_error_, .until = id});
    RETURN_IF_ERROR(told);
    auto start = (*told)[seen_].start;
    // As a server does: what could start now, and does not, waits for something nobody played.
    if (start && *start <= snapshot.now()) start.reset();
    told_.push_back({id, snapshot.job(id).job.submit, start});
  }
  return {};
}

StartsScore StartScorer::Score(const std::vector<sim::JobOutcome>& outcomes) const {
  StartsScore score;
  score.sampled = share_ < 1;
  std::vector<double> errors;
  for (const Told& told : told_) {
    const auto& real = outcomes[told.job.index()].first_start;
    if (!real || *real - told.submitted <= kAWait) continue;
    ++score.scored;
    if (!told.start) continue;
    ++score.told;
    errors.push_back(std::abs((*told.start - *real).value) / (*real - told.submitted).value);
  }
  score.error_median = core::Quantile(errors, 0.5);
  score.error_p90 = core::Quantile(errors, 0.9);
  return score;
}

}  // namespace sharewell::simulation
