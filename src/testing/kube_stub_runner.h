// KubeStubRunner: a Runner over a Kubernetes that is played (FakeKube), whose pods do their work in
// a simulated world: whatever is bound is started there, at the place that the Binding's
// annotations name, and every end and stop is heard of from the API server alone. Kubernetes takes
// no time. What the engine does with it can be held against what the simulated engine does with the
// same world.
//
// Not played is what Kubernetes cannot do: changing the cores of what runs, telling that a job ran
// out of GPU memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/cluster.h"
#include "engine/kubernetes/kube_control.h"
#include "engine/runner.h"
#include "sim/world.h"
#include "testing/fake_kube.h"
#include "testing/stub_runner.h"

namespace sharewell::fixtures {

class KubeStubRunner : public engine::Runner {
 public:
  using Submit = std::function<void(const core::Job&)>;
  using Pace = std::function<void(core::JobId, core::Ratio)>;

  // As StubRunner has them. `cluster` must outlive it.
  KubeStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit, Pace pace);

  core::Seconds Now() override { return stubs_.Now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, core::Seconds grace) override;
  void SetCores(engine::RunId, double) override {}
  void SetShare(engine::RunId, core::Ratio) override {}
  std::vector<engine::RunRequest> Recover() override { return {}; }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override {}
  void Forget(engine::RunId id) override { control_.Forget(id); }

  FakeKube kube;
  std::vector<core::GivenGpu> gpus;  // of the cluster, by GpuId
  int starts = 0;
  bool refused = false;  // a start: nothing more happens then
  std::string why;

 private:
  static engine::KubeControlOptions OptionsOf(const core::Cluster& cluster, FakeKube& kube);
  void Look(std::vector<engine::RunEvent>& out);
  bool TellEnds(const std::vector<engine::RunEvent>& told);
  bool FollowKube();

  StubRunner stubs_;
  engine::KubeControl control_;
  std::map<std::int64_t, engine::RunId> running_;  // by number
  bool asked_ = false;
};

}  // namespace sharewell::fixtures
