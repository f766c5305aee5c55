// What holds for any runner behind the live engine: for processes on one machine (StubRunner) and
// for a cluster's manager that answers late, twice, in another order or not at all (FakeRunner).
//
// A loop that decides by chance drives both; the snapshot's own checks say when it was told what
// cannot be.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/snapshot.h"
#include "engine/live/live_engine.h"
#include "testing/fake_runner.h"
#include "testing/random_case.h"
#include "testing/stub_runner.h"

namespace sharewell::engine {
namespace {

using core::GpuId;
using core::JobId;
using core::JobState;
using core::Seconds;
using fixtures::Dice;
using fixtures::FakeRunner;
using fixtures::FakeRunnerOptions;
using fixtures::StubRunner;
using ::testing::HasSubstr;

constexpr std::size_t kGpusOfNode = 2;
constexpr int kMostOnGpu = 2;
constexpr std::size_t kJobs = 30;

RunnerNode NodeOf(std::size_t number) {
  RunnerNode node;
  node.name = fmt::format("n{}", number);
  node.cores = 16;
  for (std::size_t i = 0; i < kGpusOfNode; ++i) {
    const auto index = static_cast<int>(number * kGpusOfNode + i);
    node.gpus.push_back({index, fmt::format("GPU-{}", index), "A"});
  }
  return node;
}

core::Cluster ClusterOf(int nodes) {
  fixtures::ClusterBuilder builder;
  builder.Model("A");
  for (int i = 0; i < nodes; ++i) builder.Node(kGpusOfNode).Cores(16);
  return builder.Build();
}

// Stands between the engine and any runner, and checks what the engine asks for.
class Audit : public Runner {
 public:
  explicit Audit(Runner& runner) : runner_(runner) {}
  Seconds Now() override { return runner_.Now(); }
  void Start(const RunRequest& request) override {
    EXPECT_TRUE(started_.insert(request.id).second) << "started twice";
    for (const auto& [id, other] : there_) {
      EXPECT_NE(id.job, request.id.job) << "two attempts at once";
    }
    for (const core::GivenGpu& gpu : request.gpus) {
      int here = 1;
      for (const auto& [id, other] : there_) {
        if (std::find(other.gpus.begin(), other.gpus.end(), gpu) == other.gpus.end()) continue;
        EXPECT_FALSE(stopped_.contains(id)) << "its place is still being left";
        ++here;
      }
      EXPECT_LE(here, kMostOnGpu) << "GPU " << gpu.index << " is over-committed";
    }
    EXPECT_FALSE(request.nodes.empty());
    if (refusals_ > 0) {
      --refusals_;
      RunEvent refused;
      refused.kind = RunEvent::Kind::kRefused;
      refused.id = request.id;
      refused.message = "no licence is free";
      own_.push_back(refused);
      return;
    }
    there_[request.id] = request;
    runner_.Start(request);
  }
  void Stop(RunId id, Seconds grace) override {
    stopped_.insert(id);
    runner_.Stop(id, grace);
  }
  void SetCores(RunId id, double cores) override { runner_.SetCores(id, cores); }
  void SetShare(RunId id, core::Ratio share) override { runner_.SetShare(id, share); }
  std::vector<RunRequest> Recover() override { return runner_.Recover(); }
  std::optional<Seconds> ListEvery() const override { return runner_.ListEvery(); }
  void List(std::uint64_t token) override {
    asked_[token] = started_;
    runner_.List(token);
  }
  bool Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) override {
    if (applying) {
      EXPECT_TRUE(until && *until <= Now()) << "Apply waits for the runner";
    }
    out.swap(own_);
    own_.clear();
    if (!out.empty()) return true;
    const bool more = runner_.Wait(until, out);
    for (const RunEvent& event : out) Hear(event);
    return more;
  }
  void Wake() override { runner_.Wake(); }
  void Forget(RunId id) override { runner_.Forget(id); }

  void RefuseNext(int starts) { refusals_ = starts; }
  const std::set<RunId>& started() const { return started_; }
  bool applying = false;

 private:
  void Hear(const RunEvent& event) {
    if (event.kind == RunEvent::Kind::kEnded || event.kind == RunEvent::Kind::kRefused) {
      there_.erase(event.id);
    }
    if (event.kind != RunEvent::Kind::kListed) return;
    std::set<RunId> gone = asked_.at(event.list.token);
    for (const RunList::Item& item : event.list.runs) {
      if (!item.end) gone.erase(item.id);
    }
    for (const RunId& id : gone) there_.erase(id);
  }

  Runner& runner_;
  std::set<RunId> started_, stopped_;
  std::map<std::uint64_t, std::set<RunId>>
      asked_;                          // what had been started when a list was asked for
  std::map<RunId, RunRequest> there_;  // as the engine knows: not heard to have ended
  std::vector<RunEvent> own_;
  int refusals_ = 0;
};

// A kind of runner, with what the test makes happen to it.
class Side {
 public:
  virtual ~Side() = default;
  virtual Runner& runner() = 0;
  virtual void Attach(LiveEngine&) {}
  virtual bool submits() const { return false; }  // its jobs by itself
  virtual void NodeGoes(const std::string& name) = 0;
  virtual void NodeComes(const RunnerNode& node) = 0;
  virtual bool quiet() const = 0;
  virtual std::string wrong() const { return {}; }
};

class FakeSide : public Side {
 public:
  FakeSide(int nodes, const FakeRunnerOptions& options) : fake(Nodes(nodes), options) {}
  Runner& runner() override { return fake; }
  void NodeGoes(const std::string& name) override { fake.NodeGoes(name); }
  void NodeComes(const RunnerNode& node) override { fake.NodeComes(node); }
  bool quiet() const override { return fake.quiet(); }
  std::string wrong() const override { return fake.wrong; }
  static std::vector<RunnerNode> Nodes(int count) {
    std::vector<RunnerNode> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(NodeOf(static_cast<std::size_t>(i)));
    return nodes;
  }
  FakeRunner fake;
};

// The simulated world has all the nodes that may come.
class StubSide : public Side {
 public:
  explicit StubSide(std::uint64_t seed)
      : case_(fixtures::CaseOf(ClusterOf(4), Specs(seed))),
        world_(case_.cluster, case_.jobs, case_.truth, case_.interference, {seed, Seconds(30)}),
        stub_(
            world_,
            [this](const core::Job& job) { engine_->Submit(job, StubRunner::RequestOf(job)); },
            [this](JobId job, core::Ratio rate) {
              engine_->SetPace(job, {rate, rate});
            }) {}
  Runner& runner() override { return stub_; }
  void Attach(LiveEngine& engine) override { engine_ = &engine; }
  bool submits() const override { return true; }
  void NodeGoes(const std::string& name) override { stub_.NodeGoes(name); }
  void NodeComes(const RunnerNode& node) override { stub_.NodeComes(node); }
  bool quiet() const override { return stub_.running() == 0; }
  static std::vector<fixtures::JobSpec> Specs(std::uint64_t seed) {
    Dice dice(seed + 1000);
    std::vector<fixtures::JobSpec> specs(kJobs);
    double submit = 0;
    for (fixtures::JobSpec& spec : specs) {
      spec.seconds = dice.LogUniform(1, 200);
      spec.gpus = dice.Between(0, 2);
      spec.submit = submit += dice.Uniform(0, 10);
      if (spec.gpus == 0) spec.cores = 1;
    }
    return specs;
  }

 private:
  fixtures::Case case_;
  sim::World world_;
  LiveEngine* engine_ = nullptr;
  StubRunner stub_;
};

enum class Kind { kStub, kCalm, kLate, kLossy };

FakeRunnerOptions OptionsOf(Kind kind, std::uint64_t seed) {
  FakeRunnerOptions options;
  options.seed = seed;
  if (kind == Kind::kCalm) return options;
  options.refuse = 0.1;
  options.twice = 0.2;
  options.late = 0.4;
  options.list_every = Seconds(30);
  if (kind == Kind::kLate) return options;
  options.lose = 0.2;
  options.lose_command = 0.1;
  return options;
}

std::unique_ptr<Side> SideOf(Kind kind, std::uint64_t seed, int nodes) {
  if (kind == Kind::kStub) return std::make_unique<StubSide>(seed);
  return std::make_unique<FakeSide>(nodes, OptionsOf(kind, seed));
}

// The loop's side of a history, deciding by chance.
class History {
 public:
  History(Kind kind, std::uint64_t seed, int nodes = 3)
      : History(SideOf(kind, seed, nodes), seed, nodes) {}
  History(std::unique_ptr<Side> played, std::uint64_t seed, int nodes)
      : side(std::move(played)), dice_(seed), cluster_(ClusterOf(nodes)), snapshot_(cluster_) {
    audit = std::make_unique<Audit>(side->runner());
    std::vector<core::GivenGpu> gpus;
    for (int i = 0; i < nodes; ++i) {
      for (const auto& gpu : NodeOf(static_cast<std::size_t>(i)).gpus) gpus.push_back(gpu);
    }
    engine = std::make_unique<LiveEngine>(cluster_, gpus, *audit, LiveOptions{});
    side->Attach(*engine);
    down_.resize(static_cast<std::size_t>(nodes));
  }

  void Submit(int gpus) {
    core::Job job;
    job.id = JobId(submitted_++);
    job.gpus = gpus;
    RunRequest request;
    request.id = {static_cast<std::int64_t>(job.id.value) + 1, 0};
    engine->Submit(job, request);
  }

  // Observes for up to so long. False: there is nothing more to come.
  bool Observe(double seconds) {
    Observation seen;
    if (!engine->Observe(audit->Now() + Seconds(seconds), seen)) return false;
    snapshot_.AdvanceTo(seen.now);
    for (const JobId id : seen.finished) snapshot_.Finish(id, JobState::kFinished);
    for (const JobId id : seen.failed) snapshot_.Finish(id, JobState::kFailed);
    for (const JobId id : seen.out_of_memory) snapshot_.Stop(id);
    for (const JobId id : seen.requeued) snapshot_.Stop(id);
    over += seen.finished.size() + seen.failed.size();
    for (const auto& job : seen.submitted) {
      snapshot_.Submit(job, fixtures::EstimateOf({}, cluster_));
    }
    Settle();
    return true;
  }

  // Starts what waits, for sure or by chance; stops and moves by chance.
  void Decide(double start, double stop, double move) {
    core::Plan plan;
    for (std::size_t j = 0; j < snapshot_.job_count(); ++j) {
      const JobId id(j);
      const core::JobView& view = snapshot_.job(id);
      if (view.state == JobState::kRunning && dice_.Chance(stop)) {
        plan.stops.push_back({id, {}});
        snapshot_.Stop(id);
      } else if (view.state == JobState::kRunning && dice_.Chance(move)) {
        if (const auto to = Room(view)) {
          plan.moves.push_back({id, *to, false, {}});
          snapshot_.Move(id, *to);
        }
      } else if (view.state == JobState::kWaiting && dice_.Chance(start)) {
        if (const auto to = Room(view)) {
          plan.starts.push_back({id, *to, {}, {}});
          snapshot_.Start(id, *to);
        }
      }
    }
    Observation seen;
    const Seconds before = audit->Now();
    audit->applying = true;
    engine->Apply(plan, seen);
    audit->applying = false;
    EXPECT_EQ(audit->Now(), before) << "Apply takes no time";
    Settle();
  }

  // A whole life of kJobs jobs. `nodes`: they go and come all the while.
  void Live(bool nodes) {
    for (int turn = 0; turn < 6000 && !(over == kJobs && side->quiet()); ++turn) {
      if (!side->submits() && submitted_ < kJobs && dice_.Chance(0.4)) Submit(dice_.Between(0, 2));
      if (nodes && dice_.Chance(0.03)) Shake();
      for (std::size_t j = 0; j < snapshot_.job_count(); ++j) {
        const JobState state = snapshot_.job(JobId(j)).state;
        if (state == JobState::kRunning && dice_.Chance(0.01)) engine->Requeue(JobId(j));
        if (state == JobState::kRunning && dice_.Chance(0.003)) engine->Cancel(JobId(j));
        if (state == JobState::kWaiting && dice_.Chance(0.001)) engine->Withdraw(JobId(j));
      }
      Observe(dice_.Pick({0, 0.5, 5}));
      Decide(0.4, 0.02, 0.02);
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(over, kJobs) << "each job comes to one end";
    for (const auto& [run, count] : ends) EXPECT_EQ(count, 1) << run.job << "." << run.attempt;
    for (const RunId& run : audit->started()) {
      EXPECT_TRUE(ends.contains(run)) << run.job << "." << run.attempt << " has no end";
    }
    EXPECT_EQ(side->wrong(), "");
  }

  void NodeGoes(std::size_t node) { side->NodeGoes(NodeOf(node).name); }
  void NodeComes(std::size_t node) { side->NodeComes(NodeOf(node)); }
  core::Snapshot& snapshot() { return snapshot_; }
  const core::Cluster& cluster() const { return cluster_; }
  bool down(std::size_t node) const { return down_[node]; }

  std::unique_ptr<Side> side;
  std::unique_ptr<Audit> audit;
  std::unique_ptr<LiveEngine> engine;
  std::map<RunId, int> ends;
  std::vector<std::string> refusals;  // why, of starts
  std::size_t over = 0;

 private:
  // What the service does with notes and ends.
  void Settle() {
    for (const RunEvent& note : engine->TakeNotes()) {
      if (note.kind != RunEvent::Kind::kNodeCame && note.kind != RunEvent::Kind::kNodeWent) {
        continue;
      }
      const auto number = static_cast<std::size_t>(std::stoi(note.node.name.substr(1)));
      if (number < down_.size()) {
        down_[number] = note.kind == RunEvent::Kind::kNodeWent;
        continue;
      }
      core::Node node;
      node.name = note.node.name;
      node.model = core::GpuModelId(0);
      node.gpus = static_cast<int>(note.node.gpus.size());
      cluster_.Add(node);
      snapshot_.Grow();
      engine->AddNode(note.node);
      down_.push_back(false);
    }
    for (const Ended& end : engine->TakeEnded()) {
      ++ends[end.run];
      if (end.end.refused) {
        refusals.push_back(end.end.message);
        EXPECT_NE(end.outcome, Outcome::kFinished);
      }
      audit->Forget(end.run);
    }
  }

  std::optional<core::Allocation> Room(const core::JobView& view) {
    core::Allocation to;
    for (std::size_t g = 0; g < cluster_.gpu_count(); ++g) {
      if (static_cast<int>(to.gpus.size()) == view.job.gpus) break;
      if (down_[cluster_.NodeOf(GpuId(g)).index()]) continue;
      if (snapshot_.residents(GpuId(g)).count() < kMostOnGpu) to.gpus.emplace_back(g);
    }
    if (static_cast<int>(to.gpus.size()) < view.job.gpus) return std::nullopt;
    if (view.job.gpus > 0) return to;
    const auto up = std::find(down_.begin(), down_.end(), false);
    if (up == down_.end()) return std::nullopt;
    to.node = core::NodeId(static_cast<std::size_t>(up - down_.begin()));
    return to;
  }

  // A node goes, or one that went comes, or a new one.
  void Shake() {
    const auto node = static_cast<std::size_t>(dice_.Between(0, 3));
    if (gone_.erase(node) != 0 || node >= down_.size()) return NodeComes(node);
    gone_.insert(node);
    NodeGoes(node);
  }

  Dice dice_;
  core::Cluster cluster_;
  core::Snapshot snapshot_;
  std::vector<bool> down_;      // by node, as it was told
  std::set<std::size_t> gone_;  // as it is
  std::size_t submitted_ = 0;
};

class RunnerContract : public ::testing::TestWithParam<Kind> {
 protected:
  bool stub() const { return GetParam() == Kind::kStub; }
};

TEST_P(RunnerContract, NobodyIsLostRunTwiceOrOverCommitted) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("history {}", seed));
    History(GetParam(), seed).Live(false);
    if (HasFailure()) return;
  }
}

// Without lists a manager must at least tell of its nodes in their order.
TEST_P(RunnerContract, NodesThatComeAndGoLoseNobody) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("history {}", seed));
    History(GetParam(), seed).Live(true);
    if (HasFailure()) return;
  }
}

TEST_P(RunnerContract, TheSameTwice) {
  History first(GetParam(), 7), second(GetParam(), 7);
  first.Live(true);
  second.Live(true);
  EXPECT_EQ(first.audit->started(), second.audit->started());
  EXPECT_EQ(first.audit->Now(), second.audit->Now());
}

// Until something is so, deciding to start whatever waits; at most so many seconds.
template <class So>
bool Comes(History& history, double seconds, So so) {
  const Seconds until = history.audit->Now() + Seconds(seconds);
  while (!so() && history.audit->Now() < until) {
    history.Observe(1);
    history.Decide(1, 0, 0);
  }
  return so();
}

TEST_P(RunnerContract, ARefusedStartGoesBackIntoTheQueueWithItsReason) {
  History history(GetParam(), 3);
  if (!stub()) history.Submit(1);
  history.audit->RefuseNext(3);
  ASSERT_TRUE(Comes(history, 200, [&] { return history.refusals.size() >= 3; }));
  EXPECT_THAT(history.refusals, ::testing::Each(HasSubstr("licence")));
  EXPECT_TRUE(Comes(history, 2000, [&] { return history.over >= 1; }));
}

TEST_P(RunnerContract, ANodeThatGoesIsLeftAndUsedAgainWhenItComes) {
  History history(GetParam(), 5, 1);
  if (!stub()) history.Submit(2);
  const auto runs = [&] {
    return history.snapshot().job_count() > 0 && !history.snapshot().running().empty();
  };
  ASSERT_TRUE(Comes(history, 500, runs));
  history.NodeGoes(0);
  ASSERT_TRUE(Comes(history, 200, [&] { return history.down(0); }));
  ASSERT_TRUE(Comes(history, 200, [&] { return history.snapshot().running().empty(); }));
  const std::size_t starts = history.audit->started().size();
  for (int i = 0; i < 5; ++i) {
    history.Observe(1);
    history.Decide(1, 0, 0);
  }
  EXPECT_EQ(history.audit->started().size(), starts) << "nothing is started there";
  history.NodeComes(0);
  EXPECT_TRUE(Comes(history, 200, [&] { return history.audit->started().size() > starts; }));
}

TEST_P(RunnerContract, ANewNodeIsUsed) {
  History history(GetParam(), 11, 1);
  if (!stub()) {
    for (int i = 0; i < 20; ++i) history.Submit(2);
  }
  history.NodeComes(1);
  ASSERT_TRUE(Comes(history, 200, [&] { return history.cluster().nodes().size() == 2; }));
  const auto used = [&] {
    return history.cluster().gpu_count() == 4 && history.snapshot().residents(GpuId(2)).count() > 0;
  };
  EXPECT_TRUE(Comes(history, 500, used));
}

std::string NameOf(const ::testing::TestParamInfo<Kind>& one) {
  const char* names[] = {"Stub", "Calm", "Late", "Lossy"};
  return names[static_cast<int>(one.param)];
}

INSTANTIATE_TEST_SUITE_P(Runners, RunnerContract,
                         ::testing::Values(Kind::kStub, Kind::kCalm, Kind::kLate, Kind::kLossy),
                         NameOf);

// A manager that can be made silent. What was lost is found within one list.
class SilentManager : public ::testing::Test {
 protected:
  static constexpr double kWithin = 31;  // a list every 30 s, and up to half a second on its way

  static FakeRunnerOptions Options() {
    FakeRunnerOptions options;
    options.shortest = options.longest = Seconds(5);
    options.list_every = Seconds(30);
    return options;
  }
  void Start() {
    history_.Submit(1);
    history_.Observe(0);
    history_.Decide(1, 0, 0);
  }
  bool Over(double within) {
    return Comes(history_, within, [&] { return history_.over == 1; });
  }

  FakeSide* side_ = new FakeSide(1, Options());  // owned by the history
  FakeRunner& fake_ = side_->fake;
  History history_{std::unique_ptr<Side>(side_), 1, 1};
};

TEST_F(SilentManager, AnEndThatWasNotToldIsFound) {
  fake_.SetLoss(0, 1);
  Start();
  history_.Observe(10);
  EXPECT_EQ(history_.over, 0U);
  fake_.SetLoss(0, 0);
  EXPECT_TRUE(Over(kWithin));
  EXPECT_EQ(history_.snapshot().job(JobId(0)).state, JobState::kFinished);
  EXPECT_EQ(fake_.began().at(1), 1) << "it was not run again";
}

TEST_F(SilentManager, AStartThatNeverArrivedGoesBackIntoTheQueue) {
  fake_.SetLoss(1, 0);
  Start();
  fake_.SetLoss(0, 0);
  EXPECT_TRUE(Comes(history_, kWithin, [&] { return !history_.refusals.empty(); }));
  EXPECT_THAT(history_.refusals, ::testing::ElementsAre("its start never arrived"));
  EXPECT_TRUE(Over(20));
  EXPECT_EQ(fake_.began().at(1), 1);
}

TEST_F(SilentManager, AStopThatNeverArrivedIsSaidAgain) {
  Start();
  ASSERT_TRUE(Comes(history_, 2, [&] { return fake_.began().contains(1); }));
  fake_.SetLoss(1, 1);
  history_.engine->Cancel(JobId(0));
  history_.Observe(1);
  fake_.SetLoss(0, 0);
  EXPECT_TRUE(Over(kWithin));
  EXPECT_EQ(history_.snapshot().job(JobId(0)).state, JobState::kFailed);
}

TEST_F(SilentManager, ARunThatNobodyKnowsIsEnded) {
  RunRequest stray;
  stray.id = {99, 1};
  stray.nodes = {"n0"};
  FakeRunnerOptions options = Options();
  options.shortest = options.longest = Seconds(1e6);
  auto side = std::make_unique<FakeSide>(1, options);
  FakeRunner& fake = side->fake;
  History history(std::move(side), 1, 1);
  fake.Start(stray);
  history.Observe(10);
  EXPECT_FALSE(fake.quiet());
  EXPECT_TRUE(Comes(history, 60, [&] { return fake.quiet(); }));
}

TEST_F(SilentManager, AnotherEngineGoesOnWithWhatRuns) {
  const core::Cluster cluster = ClusterOf(1);
  FakeRunner fake(FakeSide::Nodes(1), OptionsOf(Kind::kLossy, 4));
  Observation seen;
  {
    LiveEngine first(cluster, NodeOf(0).gpus, fake);
    core::Plan plan;
    for (std::size_t i = 0; i < 2; ++i) {
      core::Job job;
      job.id = JobId(i);
      RunRequest request;
      request.id = {static_cast<std::int64_t>(i) + 1, 0};
      first.Submit(job, request);
      plan.starts.push_back({job.id, fixtures::OnGpus({i}), {}, {}});
    }
    first.Observe(fake.Now(), seen);
    fake.SetLoss(0, 0.5);
    first.Apply(plan, seen);
  }
  LiveEngine second(cluster, NodeOf(0).gpus, fake);
  const std::vector<RunRequest> runs = fake.Recover();
  ASSERT_FALSE(runs.empty());
  for (std::size_t i = 0; i < runs.size(); ++i) second.Adopt(JobId(i), runs[i], 1);
  std::size_t finished = 0;
  while (finished < runs.size() && fake.Now() < Seconds(400)) {
    second.Observe(fake.Now() + Seconds(5), seen);
    finished += seen.finished.size();
    EXPECT_TRUE(seen.failed.empty());
    EXPECT_TRUE(seen.requeued.empty());
  }
  EXPECT_EQ(finished, runs.size());
  for (const RunRequest& run : runs) EXPECT_EQ(fake.began().at(run.id.job), 1);
}

}  // namespace
}  // namespace sharewell::engine
