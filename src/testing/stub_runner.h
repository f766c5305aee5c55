// StubRunner: a Runner whose processes live in a simulated world and whose clock is that world's.
// Stops take no time. What the local engine does with it can be held against what the simulated
// engine does with the same world.
//
// Runs are of job RunId::job - 1. A process tells as its steps the work it has done, and how fast
// it goes from now on is told before that: with this for the pace alone and for the steps alone, a
// step is exactly a second of work, and nothing is lost to rounding.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "sim/world.h"

namespace sharewell::fixtures {

class StubRunner : public engine::Runner {
 public:
  // Of a job: its number, and no attempt yet.
  static engine::RunRequest RequestOf(const core::Job& job);

  // `submit` is called when the world's own jobs are submitted, `pace` when one's rate changes.
  StubRunner(sim::World& world, std::function<void(const core::Job&)> submit,
             std::function<void(core::JobId, core::Ratio)> pace);

  core::Seconds Now() override { return world_.now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, const engine::StopOrder& order) override;
  void Change(engine::RunId id, const engine::RunBounds& bounds) override;
  std::vector<engine::RunRequest> Recover() override { return {}; }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override {}
  void Forget(engine::RunId) override {}

  // A node goes, with all that runs on it, or comes. The world itself has all nodes from the start.
  void NodeGoes(const std::string& name);
  void NodeComes(const engine::RunnerNode& node);

  int starts() const { return starts_; }
  std::size_t running() const { return running_.size(); }

 private:
  static constexpr int kMostIdleWakes = 10'000;

  void End(core::JobId job, engine::RunEnd end);
  void TellProgress();

  sim::World& world_;
  std::function<void(const core::Job&)> submit_;
  std::function<void(core::JobId, core::Ratio)> pace_;
  std::map<core::JobId, engine::RunRequest> running_;
  std::vector<engine::RunEvent> told_;
  std::vector<core::JobId> begun_;
  sim::Events events_;
  bool touched_ = false;  // the world has to work out rates
  int idle_wakes_ = 0;
  int starts_ = 0;
};

}  // namespace sharewell::fixtures
