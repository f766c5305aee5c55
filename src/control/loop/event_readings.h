// EventReadings: the guard's readings in a simulation, where nothing is computed between events.
//
// Whenever somebody came to a GPU that is shared, or left it, the guard looks when the residents
// have settled and one window has passed, and where somebody is slow then, after a second one. It
// gets what their steps would have told each second of it. Where somebody is still slow and not yet
// judged, it looks once more when its patience is over.
//
// How fast a job is alone is what its measured profile says, or what its own steps tell while it
// has its GPU to itself: they are read when a neighbour is about to come. What was only predicted
// does not count: such a job is not judged until it was alone.
//
// Of pairs, those are learnt that break a bound: the policy does not put them together again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "control/loop/readings.h"
#include "core/demand.h"
#include "engine/step_source.h"

namespace sharewell::control {

struct EventReadingsOptions {
  core::Ratio max_slowdown = 1.25;  // where a job states none
  // Speed of a job alone with a share of the SMs, by the model; absent: not known.
  std::function<std::optional<core::Ratio>(const core::Demand&, core::Ratio)> share_speed = {};
  std::function<void(const core::Snapshot&, const MeasuredPair&)> learn = {};
};

class EventReadings final : public Readings {
 public:
  // Both must outlive it.
  EventReadings(Guard& guard, const engine::StepSource& steps, EventReadingsOptions options);

  std::optional<core::Seconds> NextLook(const core::Snapshot& snapshot) override;
  std::vector<Standing> Read(const core::Snapshot& snapshot) override;
  void OnVerdict(const core::Snapshot& snapshot, std::span<const Standing> running,
                 const Verdict& verdict) override;
  void BeforePlan(const core::Snapshot& snapshot, const core::Plan& plan) override;
  void AfterChanges(const core::Snapshot& snapshot, std::span<const core::Change> changes) override;

 private:
  // Who shares a GPU now, and when it is looked at.
  struct Sharing {
    core::Seconds since;              // the residents are there, and train
    core::Seconds read;               // steps were read up to here
    std::optional<core::Seconds> at;  // the next look
    int looks = 0;
  };
  // What a job was seen to do alone, in the attempt that began then.
  struct Alone {
    core::GpuId gpu;
    core::Seconds started;
    double steps_per_second = 0;
    std::optional<core::Ratio> sm;
  };

  void Watch(const core::Snapshot& snapshot, core::GpuId gpu);
  void Plan(core::GpuId gpu, Sharing& sharing, std::optional<core::Seconds> at);
  const Alone* SeenAlone(core::JobId id, core::GpuId gpu) const;  // null: it was not, there
  void ReadAlone(const core::Snapshot& snapshot, core::GpuId gpu);
  Standing Stands(const core::Snapshot& snapshot, core::JobId id, const Sharing& sharing) const;

  Guard& guard_;
  const engine::StepSource& steps_;
  const EventReadingsOptions options_;
  std::map<core::GpuId, Sharing> sharing_;
  std::set<std::pair<core::Seconds, core::GpuId>> due_;  // in the order of time, then of GPUs
  std::map<core::JobId, core::GpuId> on_;                // jobs on one GPU
  std::map<core::JobId, Alone> alone_;
};

}  // namespace sharewell::control
