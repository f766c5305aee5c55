// RunnerHistory: a live engine over some runner, driven by a loop that decides by chance. The same
// for processes on one machine (StubRunner) and for a cluster's manager (FakeRunner), so that one
// suite of tests holds for both.
//
// What must never happen is looked for all the while; `wrong` says what did first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/snapshot.h"
#include "engine/live/live_engine.h"
#include "engine/pauser.h"
#include "engine/runner.h"
#include "testing/fake_runner.h"
#include "testing/random_case.h"
#include "testing/stub_runner.h"

namespace sharewell::fixtures {

// Nodes "n0", "n1", ... of two GPUs "GPU-0", "GPU-1", ... and 16 cores each.
engine::RunnerNode NodeOf(std::size_t number);
std::vector<engine::RunnerNode> NodesOf(int count);
core::Cluster ClusterOf(int nodes);

// Stands between the engine and any runner, and checks what the engine asks for.
class AuditRunner : public engine::Runner, public engine::Pauser {
 public:
  static constexpr int kMostOnGpu = 2;

  // `pauser`: may be null.
  AuditRunner(engine::Runner& runner, engine::Pauser* pauser) : runner_(runner), pauser_(pauser) {}
  core::Seconds Now() override { return runner_.Now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, const engine::StopOrder& order) override;
  void Change(engine::RunId id, const engine::RunBounds& bounds) override {
    runner_.Change(id, bounds);
  }
  std::vector<engine::RunRequest> Recover() override { return runner_.Recover(); }
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override { runner_.Wake(); }
  void Forget(engine::RunId id) override { runner_.Forget(id); }
  void Pause(engine::RunId id, std::optional<core::Bytes> gpu_memory) override;
  void Resume(engine::RunId id) override;
  std::string WhyNoPause() override { return pauser_->WhyNoPause(); }

  void RefuseNext(int starts) { refusals_ = starts; }
  void Emit(engine::RunEvent event) { own_.push_back(std::move(event)); }
  const std::set<engine::RunId>& started() const { return started_; }
  bool applying = false;  // the engine may not wait now
  std::string wrong;

 private:
  void Hear(const engine::RunEvent& event);
  void Check(bool right, const std::string& else_wrong);
  // It comes to its GPUs, where nobody leaves and there is room.
  void CheckRoom(const engine::RunRequest& request, const std::string& name);

  engine::Runner& runner_;
  engine::Pauser* const pauser_;
  std::set<engine::RunId> started_;
  std::set<engine::RunId> stopped_;  // or to be paused, and not gone from their GPUs
  std::set<engine::RunId> paused_;
  std::map<engine::RunId, engine::RunRequest> there_;  // not heard to have ended
  std::map<engine::RunId, core::Seconds> started_at_;
  std::vector<engine::RunEvent> own_;
  int refusals_ = 0;
};

// A kind of runner, with what a test makes happen to it.
class RunnerSide {
 public:
  virtual ~RunnerSide() = default;
  virtual engine::Runner& runner() = 0;
  virtual engine::Pauser* pauser() { return nullptr; }  // null: nothing can be paused
  virtual void Attach(engine::LiveEngine&) {}
  virtual bool submits() const { return false; }  // its jobs by itself
  virtual void NodeGoes(const std::string& name) = 0;
  virtual void NodeComes(const engine::RunnerNode& node) = 0;
  virtual bool quiet() const = 0;  // nothing runs
  virtual std::string wrong() const { return {}; }
};

class FakeSide : public RunnerSide {
 public:
  FakeSide(int nodes, const FakeRunnerOptions& options) : fake(NodesOf(nodes), options) {}
  engine::Runner& runner() override { return fake; }
  engine::Pauser* pauser() override { return &fake; }
  void NodeGoes(const std::string& name) override { fake.NodeGoes(name); }
  void NodeComes(const engine::RunnerNode& node) override { fake.NodeComes(node); }
  bool quiet() const override { return fake.quiet(); }
  std::string wrong() const override { return fake.wrong; }
  FakeRunner fake;
};

// Its world has every node that may come, and submits `jobs` jobs.
class StubSide : public RunnerSide {
 public:
  StubSide(std::uint64_t seed, std::size_t jobs);
  engine::Runner& runner() override { return stub_; }
  void Attach(engine::LiveEngine& engine) override { engine_ = &engine; }
  bool submits() const override { return true; }
  void NodeGoes(const std::string& name) override { stub_.NodeGoes(name); }
  void NodeComes(const engine::RunnerNode& node) override { stub_.NodeComes(node); }
  bool quiet() const override { return stub_.running() == 0; }

 private:
  Case case_;
  sim::World world_;
  engine::LiveEngine* engine_ = nullptr;
  StubRunner stub_;
};

class RunnerHistory {
 public:
  RunnerHistory(std::unique_ptr<RunnerSide> side, std::uint64_t seed, int nodes);

  void Submit(int gpus);
  // Observes for up to so long, and writes it into the snapshot.
  void Observe(double seconds);
  // Starts what waits, stops and moves what runs, each by that chance.
  void Decide(double start, double stop, double move);
  // A whole life of so many jobs; all is over at its end. `shaken`: nodes and GPUs go and come.
  void Live(std::size_t jobs, bool shaken);
  // In Live, jobs are given new ids by that chance each turn. REQUIRES: jobs do not come by
  // themselves.
  double renumber = 0;
  // In Live, runs are paused by that chance each turn. REQUIRES: before the first Submit.
  double pause = 0;
  // Until something is so, starting whatever waits; at most so many seconds. False: it never was.
  template <class So>
  bool Comes(double seconds, So so) {
    const core::Seconds until = audit.Now() + core::Seconds(seconds);
    for (int turn = 0; turn < 10'000 && !so() && audit.Now() < until; ++turn) {
      Observe(1);
      Decide(1, 0, 0);
    }
    return so();
  }
  void NodeGoes(std::size_t node) { side_->NodeGoes(NodeOf(node).name); }
  void NodeComes(std::size_t node) { side_->NodeComes(NodeOf(node)); }

  const core::Snapshot& snapshot() const { return snapshot_; }
  const core::Cluster& cluster() const { return cluster_; }
  bool down(std::size_t node) const { return down_[node]; }  // as it was told
  std::size_t over() const { return over_; }
  std::size_t resumed() const { return resumed_; }
  std::size_t kept() const { return kept_; }  // runs whose stop was refused and taken back
  const std::vector<std::string>& refusals() const { return refusals_; }  // of starts: why
  std::string wrong() const;

 private:
  // What the service does with notes and ends.
  void Settle();
  void Handle(const engine::RunEvent& note);
  bool SetDown(const std::string& name, bool down);  // false: no node is called so
  std::optional<core::Allocation> Room(const core::JobView& view) const;
  void Shake();
  void Meddle();          // requeues, cancels and withdraws by chance
  void Renumber();        // whoever is not over, nor spoken of by the engine any more, goes
  bool AllEnded() const;  // that were started

  std::unique_ptr<RunnerSide> side_;
  Dice dice_;
  core::Cluster cluster_;
  core::Snapshot snapshot_;

 public:
  AuditRunner audit;
  engine::LiveEngine engine;

 private:
  std::vector<bool> down_;           // by node, as it was told
  std::set<std::string> lost_gpus_;  // likewise
  std::set<std::size_t> gone_;       // nodes, as it is
  std::map<engine::RunId, int> ends_;
  std::vector<std::string> refusals_;
  std::size_t submitted_ = 0, over_ = 0, kept_ = 0, resumed_ = 0;
  std::size_t unseen_ = 0;  // submitted since the last Observe
  std::string wrong_;
};

}  // namespace sharewell::fixtures
