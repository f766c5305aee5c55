#include "control/service/housekeeping.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sharewell::control {
namespace {

constexpr core::Seconds kTidyEvery(60);  // a little at a time: others wait meanwhile
constexpr core::UnixMillis kKeepMillis = core::UnixMillis{365} * 86'400'000;
constexpr std::int64_t kKeepEvents = 100'000;
constexpr core::Seconds kStoreLook(2);  // while all is well

}  // namespace

// A store that is gone must be told by /healthz, also when nothing happens.
void Housekeeping::LookAtStore() {
  Outbox& outbox = parts_.journal.outbox();
  const core::Seconds now = parts_.journal.Now();
  if (now >= look_at_store_) {
    if (!outbox.LookAtStore()) return;  // this one cannot tell
    look_at_store_ = parts_.journal.Now() + (outbox.problem().empty() ? kStoreLook : kStoreAgain);
  }
  parts_.loop.TurnBy(look_at_store_);
}

void Housekeeping::Tidy() {
  const core::Seconds now = parts_.journal.Now();
  if (now < tidy_at_) return;
  tidy_at_ = now + kTidyEvery;
  const auto old = parts_.journal.wall().OldBefore(kKeepMillis);
  (void)parts_.store.TidyJobs(old.value_or(0), kKeepEvents);  // or next time
}

// About as many ids are given between two looks as one look costs: little for each job. At most
// about three times as many are in use as there were jobs.
std::optional<core::Renumbering> Housekeeping::NewIds() {
  const core::Snapshot& snapshot = parts_.state.snapshot;
  const std::size_t all = snapshot.job_count();
  if (all < std::max(look_at_ids_, parts_.few_ids)) return std::nullopt;
  if (parts_.state.live.ids_given() != all) return std::nullopt;  // one is on its way into it
  std::vector<bool> stays(all);
  for (const auto list : {snapshot.waiting(), snapshot.running()}) {
    for (const core::JobId id : list) stays[id.index()] = true;
  }
  parts_.state.live.MarkStaying(stays);
  parts_.engine.MarkStaying(stays);
  core::Renumbering ids(stays);
  const bool most_are_over = ids.staying() < all / 2;
  look_at_ids_ = (most_are_over ? ids.staying() : all) + ids.staying() + parts_.few_ids;
  if (!most_are_over) return std::nullopt;
  return ids;
}

}  // namespace sharewell::control
