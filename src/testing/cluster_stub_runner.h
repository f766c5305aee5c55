// ClusterStubRunner: what the stub runners of Slurm and of Kubernetes have in common: a cluster
// that is played, whose jobs do their work in a simulated world. Whatever the cluster starts is
// started there, and every end and stop is heard of from the cluster alone, which takes no time.
// What the engine does with it can be held against what the simulated engine does with the same
// world.
//
// Not played is what neither manager can do: changing the cores of what runs, telling that a job
// ran out of GPU memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "engine/cluster_control.h"
#include "engine/runner.h"
#include "sim/world.h"
#include "testing/stub_runner.h"

namespace sharewell::fixtures {

class ClusterStubRunner : public engine::Runner {
 public:
  using Submit = std::function<void(const core::Job&)>;
  using Pace = std::function<void(core::JobId, core::Ratio)>;

  core::Seconds Now() override { return stubs_.Now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, const engine::StopOrder& order) override;
  void Change(engine::RunId, const engine::RunBounds&) override {}
  std::vector<engine::RunRequest> Recover() override { return {}; }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override {}
  void Forget(engine::RunId id) override { Control().Forget(id); }

  std::vector<core::GivenGpu> gpus;  // of the cluster, by GpuId
  int starts = 0;
  bool refused = false;  // a start: nothing more happens then
  std::string why;

 protected:
  // As StubRunner has them.
  ClusterStubRunner(sim::World& world, Submit submit, Pace pace);
  static engine::GpuModelNamed ModelsOf(const core::Cluster& cluster);  // which must outlive it
  // The cluster started it, at that place.
  void StartStub(const engine::RunRequest& request);

  StubRunner stubs_;
  std::map<std::int64_t, engine::RunId> running_;  // by number

 private:
  virtual engine::ClusterControl& Control() = 0;
  virtual void Cycle(std::vector<engine::RunEvent>& out) = 0;  // the control's, now
  virtual void Advance() = 0;                                  // the cluster, to now
  virtual std::size_t Written() const = 0;                     // lines that the cluster carried out
  virtual void EndThere(std::int64_t job, int exit_code) = 0;  // it ended by itself
  // What runs in the cluster runs in the world, and nothing else. By the cluster's words alone.
  // Whether anything changed.
  virtual bool Follow() = 0;
  // What is on its way and did not start; empty: nothing.
  virtual std::string WhyNotStarted() { return {}; }

  void Look(std::vector<engine::RunEvent>& out);
  bool TellEnds(const std::vector<engine::RunEvent>& told);

  bool asked_ = false;
};

}  // namespace sharewell::fixtures
