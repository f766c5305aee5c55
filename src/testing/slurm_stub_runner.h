// SlurmStubRunner: a ClusterStubRunner over a Slurm that is played (FakeSlurm). Its jobs run at the
// place that their GRES and their note name. CPU-only jobs are not played.
#pragma once

#include <string>
#include <vector>

#include "engine/slurm/control/slurm_control.h"
#include "testing/cluster_stub_runner.h"
#include "testing/fake_slurm.h"

namespace sharewell::fixtures {

class SlurmStubRunner : public ClusterStubRunner {
 public:
  // As StubRunner has them. `cluster` must outlive it.
  SlurmStubRunner(const core::Cluster& cluster, sim::World& world, Submit submit, Pace pace);

  FakeSlurm slurm;

 private:
  static engine::SlurmControlOptions OptionsOf(const core::Cluster& cluster, FakeSlurm& slurm);
  engine::ClusterControl& Control() override { return control_; }
  void Cycle(std::vector<engine::RunEvent>& out) override { control_.Cycle(Now(), out); }
  void Advance() override { slurm.Advance(Now()); }
  std::size_t Written() const override { return slurm.log.size(); }
  void EndThere(std::int64_t job, int exit_code) override { slurm.End(job, exit_code); }
  bool Follow() override;
  std::string WhyNotStarted() override;
  engine::RunRequest RequestOf(const engine::SlurmJob& job) const;

  engine::SlurmControl control_;
};

}  // namespace sharewell::fixtures
