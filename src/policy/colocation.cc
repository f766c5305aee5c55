#include "policy/colocation.h"

#include <algorithm>
#include <limits>

#include "core/sm_share.h"
#include "policy/order/order.h"

namespace sharewell::policy {

using core::JobId;
using core::JobView;
using core::Ratio;

Colocation::Colocation(const core::Snapshot& snapshot,
                       const interference::Interference& interference, core::GpuModelId model,
                       std::span<const JobId> residents)
    : snapshot_(snapshot), interference_(interference), model_(model) {
  for (JobId id : residents) Join(id);
}

Colocation::Colocation(const core::Snapshot& snapshot,
                       const interference::Interference& interference, const Ledger& ledger,
                       core::GpuId gpu)
    : snapshot_(snapshot), interference_(interference), model_(snapshot.cluster().ModelOf(gpu)) {
  for (JobId id : ledger.residents(gpu).jobs()) Join(id, ledger.sm_share(snapshot, id));
}

void Colocation::Join(JobId id) { Join(id, core::StandingShare(snapshot_.job(id))); }

void Colocation::Join(JobId id, Ratio sm_share, std::optional<core::Seconds> stays) {
  stays_ = stays;
  const JobView& view = snapshot_.job(id);
  ids_[size_] = id;
  residents_[size_] = {view.job.workload, &view.estimate.On(model_).demand,
                       view.estimate.contention, sm_share};
  contenders_[size_] = interference_.Prepare(residents_[size_]);
  own_[size_] = 1;
  ++size_;
  speeds_.fill(0);
  if (view.job.sm_share && core::InsistedShare(view)) own_[size_ - 1] = SpeedAlone(size_ - 1);
}

void Colocation::JoinAsIn(const Colocation& alone) {
  ids_[size_] = alone.ids_[0];
  residents_[size_] = alone.residents_[0];
  contenders_[size_] = alone.contenders_[0];
  own_[size_] = alone.own_[0];
  if (lived_ == size_) lives_[lived_++] = alone.LivesNow()[0];
  ++size_;
  speeds_.fill(0);
}

void Colocation::Leave() {
  stays_.reset();
  --size_;
  lived_ = std::min(lived_, size_);
  speeds_.fill(0);
}

void Colocation::Limit(std::size_t i, Ratio sm_share) {
  if (residents_[i].sm_share == sm_share) return;
  residents_[i].sm_share = sm_share;
  contenders_[i] = interference_.Prepare(residents_[i]);
  speeds_.fill(0);
}

Ratio Colocation::SpeedAlone(std::size_t i) const { return contenders_[i].alone; }

double Colocation::Left(std::size_t i) const { return LivesNow()[i].left; }

Ratio Colocation::Speed(std::size_t i) const {
  if (speeds_[i] == 0) {
    const std::span<const interference::Contender> all(contenders_.data(), size_);
    speeds_[i] = interference_.Speed(model_, all, i);
  }
  return speeds_[i];
}

Ratio Colocation::Slowest() const {
  Ratio slowest = 1;
  for (std::size_t i = 0; i < size_; ++i) slowest = std::min(slowest, Speed(i));
  return slowest;
}

Ratio Colocation::SumOfSpeeds() const {
  Ratio sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += Speed(i);
  return sum;
}

bool Colocation::Fits() const {
  core::Bytes memory;
  for (std::size_t i = 0; i < size_; ++i) memory += core::GpuMemoryUpper(snapshot_.job(ids_[i]));
  return memory <= snapshot_.cluster().model(model_).memory &&
         interference_.Fits(model_, residents()) && interference_.Knows(model_, residents());
}

const Colocation::Lives& Colocation::LivesNow() const {
  for (; lived_ < size_; ++lived_) {
    const JobView& view = snapshot_.job(ids_[lived_]);
    Life& life = lives_[lived_];
    life.left = ExpectedRemaining(snapshot_, view) / view.estimate.On(model_).rate;
    life.past = (snapshot_.run_time(view) - view.startup).value;
    life.alone = snapshot_.alone_time(view).value + life.left;
    if (stays_ && lived_ + 1 == size_) life.left = stays_->value * Speed(lived_);
  }
  return lives_;
}

template <class Tell>
void Colocation::PlayOn(const Lives& lives, Tell tell) const {
  std::array<double, core::kMaxJobsOnGpu> left;
  std::array<std::size_t, core::kMaxJobsOnGpu> who;
  // Filled once somebody has left: before that they are the contenders.
  std::array<interference::Contender, core::kMaxJobsOnGpu> present;
  std::size_t n = size_;
  for (std::size_t i = 0; i < n; ++i) {
    left[i] = lives[i].left;
    who[i] = i;
  }
  // At most `size` phases: each ends with the first to finish, and the rest speed up.
  double clock = 0;
  while (n > 0) {
    const std::span<const interference::Contender> now{present.data(), n};
    std::array<double, core::kMaxJobsOnGpu> speed;
    double phase = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      speed[i] = n == size_ ? Speed(i) : interference_.Speed(model_, now, i);
      phase = std::min(phase, left[i] / speed[i]);
    }
    clock += phase;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double rest = left[i] - phase * speed[i];
      if (rest <= 1e-9) {
        const Life& life = lives[who[i]];
        if (!tell(who[i], own_[who[i]] * (life.past + clock) / life.alone)) return;
        continue;
      }
      left[kept] = rest;
      who[kept] = who[i];
      present[kept] = n == size_ ? contenders_[i] : present[i];
      ++kept;
    }
    n = kept;
  }
}

Ratio Colocation::WorstLifetimeSlowdown() const {
  Ratio worst = 1;
  PlayOn(LivesNow(), [&](std::size_t, Ratio slowdown) {
    worst = std::max(worst, slowdown);
    return true;
  });
  return worst;
}

Ratio Colocation::BoundOf(std::size_t i, Ratio otherwise) const {
  if (stays_ && i + 1 == size_) return std::numeric_limits<Ratio>::infinity();
  return snapshot_.job(ids_[i]).job.max_slowdown.value_or(otherwise);
}

std::optional<std::size_t> Colocation::WhoBreaksItsBound(Ratio otherwise) const {
  const Lives& lives = LivesNow();
  // Alone nobody is slower than beside another: of two, who is within its bound at this pace stays
  // there.
  bool all_kept = size_ <= 2 && !stays_;
  for (std::size_t i = 0; i < size_ && all_kept; ++i) {
    const Life& life = lives[i];
    all_kept = own_[i] * (life.past + life.left / Speed(i)) <= life.alone * BoundOf(i, otherwise);
  }
  if (all_kept) return std::nullopt;
  std::optional<std::size_t> who;
  PlayOn(lives, [&](std::size_t i, Ratio slowdown) {
    if (slowdown > BoundOf(i, otherwise)) who = i;
    return !who;
  });
  return who;
}

bool Colocation::SurelyBreaksItsBound(std::size_t i, Ratio otherwise) const {
  const double left = Left(i);
  const double end = left / Speed(i);
  for (std::size_t j = 0; j < size_; ++j) {
    if (j != i && end > Left(j)) return false;  // nobody is faster than alone with all SMs
  }
  const Life& life = LivesNow()[i];
  return own_[i] * (life.past + end) > life.alone * BoundOf(i, otherwise);
}

bool Colocation::KeepsBoundsNow(Ratio otherwise) const {
  for (std::size_t i = 0; i < size_; ++i) {
    if (Speed(i) < own_[i] / BoundOf(i, otherwise)) return false;
  }
  return true;
}

}  // namespace sharewell::policy
