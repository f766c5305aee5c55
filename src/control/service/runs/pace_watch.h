// PaceWatch: how fast running jobs go, read every second for the loop's guard, shown to users, and
// kept: pairs that were measured, time limits that neighbours made too short, rates alone. The
// loop's thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "control/loop/guard.h"
#include "control/loop/readings.h"
#include "control/service/advisor.h"
#include "control/service/jobs/job_board.h"
#include "control/service/jobs/live_jobs.h"
#include "control/service/record/outbox.h"
#include "control/service/runs/speed_keeper.h"
#include "control/service/service.h"
#include "core/cluster.h"
#include "core/renumbering.h"
#include "core/snapshot.h"
#include "engine/live/live_engine.h"
#include "store/job_store.h"

namespace sharewell::control {

// What a job was seen to use, as it is shown; `gpus` that it has.
core::SeenFigures SeenOf(const core::Profile& seen, int gpus);

core::StepsBy CountedBy(const engine::StepCount& steps);

class PaceWatch final : public Readings {
 public:
  // All must outlive it; `monitor` may be null.
  struct Parts {
    const core::Cluster& cluster;
    const core::Snapshot& snapshot;
    engine::LiveEngine& engine;
    LiveJobs& live;
    Outbox& outbox;
    JobBoard& board;
    store::JobStore& store;
    Advisor& advisor;
    JobMonitor* monitor;
    core::Ratio max_slowdown;  // where a job states none
    std::function<core::UnixMillis()> wall;
    std::function<core::UnixMillis(core::Seconds)> wall_at;  // at a time of the runner's clock
    std::function<void()> pairs_learnt;  // the advisor's policy is another one now
  };
  PaceWatch(Parts parts, const GuardOptions& guard);

  std::optional<core::Seconds> NextLook(const core::Snapshot& snapshot) override;
  std::vector<Standing> Read(const core::Snapshot& snapshot) override;
  void OnVerdict(const core::Snapshot& snapshot, std::span<const Standing> running,
                 const Verdict& verdict) override;

  Guard& guard() { return guard_; }
  SpeedKeeper& speeds() { return speeds_; }
  // Tells the engine how fast it is alone on these GPUs, as `believed` has it.
  void SetPace(const LiveJob& job, const core::Estimate& believed,
               const std::vector<core::GpuId>& on);
  // What the work of one that ends takes it alone; absent: not known. REQUIRES: it has an id.
  std::optional<core::Seconds> TimeAlone(const LiveJob& job) const;
  // A run of it has ended. Once it is over its speed is that of its whole life.
  void TakeSpeed(LiveJob& job);
  // It has ended well: what was seen of it is what the next of its kind is believed to need.
  // What that is.
  core::Profile LearnRun(const LiveJob& job);
  void Renumber(const core::Renumbering& ids) { guard_.Renumber(ids); }

 private:
  Standing StandingNow(LiveJob& job) const;
  void Show(LiveJob& job, const Standing& standing, bool figures);
  void KeepRate(LiveJob& job, const core::SeenRate& seen);
  void ExtendLimit(LiveJob& job, const Standing& standing);
  void LearnPairs(const std::vector<MeasuredPair>& pairs);

  const Parts parts_;
  Guard guard_;
  SpeedKeeper speeds_;
  core::Seconds looked_;      // last
  core::Seconds passed_;      // between the last two looks
  core::Seconds shown_seen_;  // what running jobs were seen to use
};

}  // namespace sharewell::control
