// Colocation: the jobs on one GPU together, as they are believed to get on. The questions that
// sharing policies ask of the interference model, in one place. Speeds and slowdowns are against a
// job alone with all SMs. A share that its user insists on is his own slowdown: such a job's bound
// is kept against its speed alone with that share.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "core/snapshot.h"
#include "interference/interference.h"
#include "policy/ledger.h"

namespace sharewell::policy {

class Colocation {
 public:
  Colocation(const core::Snapshot& snapshot, const interference::Interference& interference,
             core::GpuModelId model, std::span<const core::JobId> residents);
  // All on that GPU, with what this plan has already put there.
  Colocation(const core::Snapshot& snapshot, const interference::Interference& interference,
             const Ledger& ledger, core::GpuId gpu);

  void Join(core::JobId id);  // with the share that it has or insists on
  // With another. `stays`: for so many seconds at most, whatever is left of it, and its own bound
  // is not looked at.
  void Join(core::JobId id, core::Ratio sm_share, std::optional<core::Seconds> stays = {});
  void JoinAsIn(const Colocation& alone);           // who is alone there, on the same model
  void Leave();                                     // who joined last
  void Limit(std::size_t i, core::Ratio sm_share);  // gives it another share
  std::size_t size() const { return size_; }
  core::JobId job(std::size_t i) const { return ids_[i]; }
  const core::Demand& demand(std::size_t i) const { return *residents_[i].demand; }
  core::Ratio sm_share(std::size_t i) const { return residents_[i].sm_share; }

  double Left(std::size_t i) const;             // seconds alone on this model, as believed
  core::Ratio Speed(std::size_t i) const;       // now
  core::Ratio SpeedAlone(std::size_t i) const;  // with its share, and nobody else
  core::Ratio Slowest() const;
  core::Ratio SumOfSpeeds() const;
  // Upper bounds of memory fit, no two were seen to run out of it, and everybody's speed is known.
  bool Fits() const;
  // The largest factor by which any of them will have been stretched when it ends, if nobody else
  // comes: the time it ran so far and will still run, over what that work takes it alone there
  // (with the share that its user insists on, where he does).
  core::Ratio WorstLifetimeSlowdown() const;
  // Each has its own bound, those who state none `otherwise`. Who would break it, over its life:
  // the first to end. Absent: all keep theirs.
  std::optional<std::size_t> WhoBreaksItsBound(core::Ratio otherwise) const;
  // Told from its own speed alone: it ends before anybody else can, and beyond its bound. False
  // says nothing.
  bool SurelyBreaksItsBound(std::size_t i, core::Ratio otherwise) const;
  bool KeepsBoundsNow(core::Ratio otherwise) const;  // all, at this moment

 private:
  // One's run on this GPU model, in seconds.
  struct Life {
    double left = 0;   // alone
    double past = 0;   // it ran so far
    double alone = 0;  // that and what is left, alone
  };
  using Lives = std::array<Life, core::kMaxJobsOnGpu>;
  const Lives& LivesNow() const;
  // To the end of the last: `tell(i, slowdown)` as each ends, while it answers true.
  template <class Tell>
  void PlayOn(const Lives& lives, Tell tell) const;
  core::Ratio BoundOf(std::size_t i, core::Ratio otherwise) const;
  std::span<const interference::Resident> residents() const { return {residents_.data(), size_}; }

  const core::Snapshot& snapshot_;
  const interference::Interference& interference_;
  core::GpuModelId model_;
  std::size_t size_ = 0;
  std::array<core::JobId, core::kMaxJobsOnGpu> ids_;
  std::array<interference::Resident, core::kMaxJobsOnGpu> residents_;
  std::array<interference::Contender, core::kMaxJobsOnGpu> contenders_;  // the same, prepared
  // Speed alone that its slowdown is told against: 1, or what an insisted share leaves.
  std::array<core::Ratio, core::kMaxJobsOnGpu> own_;
  std::optional<core::Seconds> stays_;  // who joined last, and for no longer
  mutable std::array<core::Ratio, core::kMaxJobsOnGpu> speeds_{};  // 0: not worked out yet
  mutable Lives lives_{};
  mutable std::size_t lived_ = 0;  // of lives_, those that were worked out
};

}  // namespace sharewell::policy
