// KubeStubRunner: a ClusterStubRunner over a Kubernetes that is played (FakeKube). Its pods run at
// the place that their Binding's annotations name.
#pragma once

#include <string>
#include <vector>

#include "engine/kubernetes/control/kube_control.h"
#include "testing/cluster_stub_runner.h"
#include "testing/fake_kube.h"

namespace sharewell::fixtures {

class KubeStubRunner : public ClusterStubRunner {
 public:
  // As StubRunner has them. `cluster` must outlive it.
  KubeStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit, Pace pace);

  FakeKube kube;

 private:
  static engine::KubeControlOptions OptionsOf(const core::Cluster& cluster, FakeKube& kube);
  engine::ClusterControl& Control() override { return control_; }
  void Cycle(std::vector<engine::RunEvent>& out) override;
  void Advance() override { kube.Advance(Now()); }
  std::size_t Written() const override { return kube.log.size(); }
  void EndThere(std::int64_t job, int exit_code) override;
  bool Follow() override;

  engine::KubeControl control_;
};

}  // namespace sharewell::fixtures
