// SlurmStubRunner: a Runner over a Slurm that is played (FakeSlurm), whose jobs do their work in a
// simulated world: whatever Slurm starts is started there, at the place that its GRES and the job's
// note name, and every end and stop is heard of from Slurm alone. Slurm takes no time. What the
// engine does with it can be held against what the simulated engine does with the same world.
//
// Not played is what Slurm cannot do: changing the cores of what runs, CPU-only jobs, telling that
// a job ran out of GPU memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/cluster.h"
#include "engine/runner.h"
#include "engine/slurm/slurm_control.h"
#include "sim/world.h"
#include "testing/fake_slurm.h"
#include "testing/stub_runner.h"

namespace sharewell::fixtures {

class SlurmStubRunner : public engine::Runner {
 public:
  using Submit = std::function<void(const core::Job&)>;
  using Pace = std::function<void(core::JobId, core::Ratio)>;

  // As StubRunner has them. `cluster` must outlive it.
  SlurmStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit, Pace pace);

  core::Seconds Now() override { return stubs_.Now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, core::Seconds grace) override;
  void SetCores(engine::RunId, double) override {}
  void SetShare(engine::RunId, core::Ratio) override {}
  std::vector<engine::RunRequest> Recover() override { return {}; }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override {}
  void Forget(engine::RunId id) override { control_.Forget(id); }

  FakeSlurm slurm;
  std::vector<core::GivenGpu> gpus;  // of the cluster, by GpuId
  int starts = 0;
  bool refused = false;  // a start, or it waits in Slurm: nothing more happens then

 private:
  static engine::SlurmControlOptions OptionsOf(const core::Cluster& cluster, FakeSlurm& slurm);
  void Look(std::vector<engine::RunEvent>& out);
  bool TellEnds(const std::vector<engine::RunEvent>& told);
  bool AllStarted();
  bool FollowSlurm();
  engine::RunRequest RequestOf(const engine::SlurmJob& job) const;

  StubRunner stubs_;
  engine::SlurmControl control_;
  std::map<std::int64_t, engine::RunId> running_;  // by Slurm's number
  bool asked_ = false;
};

}  // namespace sharewell::fixtures
