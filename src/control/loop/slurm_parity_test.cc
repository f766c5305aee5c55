// Parity: the same scenario through the simulated engine and through Slurm's gives the same
// decisions, byte for byte. Slurm is played (FakeSlurm), on a manual clock: every start is placed,
// released, started at what its GRES and its note say, and seen in the queue; every end and every
// stop is heard of from Slurm alone. tests/slurm/parity_test.py does it with a real one.
//
// Left out is what Slurm cannot do: changing the cores of what runs, CPU-only jobs, telling that a
// job ran out of GPU memory.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <utility>

#include "control/loop/test_parity.h"
#include "core/result.h"
#include "engine/live/live_engine.h"
#include "engine/slurm/job_note.h"
#include "testing/fake_slurm.h"
#include "testing/policies.h"
#include "testing/simulated_case.h"
#include "testing/stub_runner.h"

namespace sharewell::control {
namespace {

using core::Seconds;
using engine::RunEvent;
using fixtures::Case;

// A SlurmControl over a FakeSlurm, whose jobs do their work in a simulated world: whatever Slurm
// starts is started there, at the place that Slurm gave it.
class ParityRunner : public engine::Runner {
 public:
  using Submit = std::function<void(const core::Job&)>;
  using Pace = std::function<void(core::JobId, core::Ratio)>;

  ParityRunner(const core::Cluster& cluster, sim::World& world, Submit submit, Pace pace)
      : stubs_(
            world,
            [this, submit = std::move(submit)](const core::Job& job) {
              slurm.Advance(stubs_.Now());
              slurm.SubmitAs(static_cast<std::int64_t>(job.id.value) + 1, job.gpus,
                             {.lasts = Seconds(1e12), .exit_code = 0}, 1);
              submit(job);
            },
            std::move(pace)),
        control_(slurm, OptionsOf(cluster, slurm)) {
    slurm.leaving = Seconds(0);
    for (const core::Node& node : cluster.nodes()) {
      slurm.AddNode(node.name, node.gpus, cluster.model(node.model).name);
    }
    EXPECT_TRUE(control_.Open());
    for (const engine::RunnerNode& node : control_.Nodes()) {
      gpus.insert(gpus.end(), node.gpus.begin(), node.gpus.end());
    }
  }

  Seconds Now() override { return stubs_.Now(); }
  void Start(const engine::RunRequest& request) override {
    control_.Start(request);
    asked_ = true;
  }
  void Stop(engine::RunId id, Seconds) override {
    control_.Stop(id);
    asked_ = true;
  }
  void SetCores(engine::RunId, double) override {}
  void SetShare(engine::RunId, core::Ratio) override {}
  std::vector<engine::RunRequest> Recover() override { return {}; }
  void Wake() override {}
  void Forget(engine::RunId id) override { control_.Forget(id); }

  bool Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) override {
    if (std::exchange(asked_, false)) Look(out);
    if (refused) return false;  // what follows is not comparable
    // As stubs tell it: what has left is heard of before anybody's new pace.
    if (Tells(out, RunEvent::Kind::kEnded)) return true;
    std::vector<RunEvent> told;
    bool known = false;  // all of it: the ends of those whom Slurm has stopped
    do {
      told.clear();
      if (!stubs_.Wait(until, told)) return false;
      slurm.Advance(Now());
      known = !told.empty();
      bool ends = false;
      for (const RunEvent& event : told) {
        if (event.kind != RunEvent::Kind::kEnded) {
          known = false;
          continue;
        }
        const auto found = running_.find(event.id.job);
        if (found == running_.end() || found->second != event.id) continue;
        running_.erase(found);
        slurm.End(event.id.job, event.end.exit_code);
        known = false;
        ends = true;
      }
      if (ends) Look(out);
      if (refused) return false;
      // Steps go from the nodes' agents to the store, past Slurm.
      for (const RunEvent& event : told) {
        if (event.kind == RunEvent::Kind::kProgress) out.push_back(event);
      }
    } while (known);
    return true;
  }

  fixtures::FakeSlurm slurm;
  std::vector<core::GivenGpu> gpus;
  int starts = 0;
  bool refused = false;  // a start, or it waits in Slurm; nothing more happens then

 private:
  static engine::SlurmControlOptions OptionsOf(const core::Cluster& cluster,
                                               fixtures::FakeSlurm& slurm) {
    engine::SlurmControlOptions options = fixtures::FakeSlurmRunner::Options(slurm);
    options.model = [&cluster](std::string_view name) -> std::optional<engine::SlurmGpuModel> {
      for (const core::GpuModel& model : cluster.models()) {
        if (model.name == name) return engine::SlurmGpuModel{model.name, model.memory};
      }
      return std::nullopt;
    };
    options.steps = {};
    return options;
  }

  static bool Tells(const std::vector<RunEvent>& events, RunEvent::Kind kind) {
    return std::any_of(events.begin(), events.end(),
                       [&](const RunEvent& event) { return event.kind == kind; });
  }

  // Slurm is looked at until nothing is on its way any more, all in one instant.
  void Look(std::vector<RunEvent>& out) {
    for (int quiet = 0; quiet < 2;) {
      const std::size_t before = out.size();
      const std::size_t lines = slurm.log.size();
      control_.Cycle(Now(), out);
      slurm.Advance(Now());
      const bool changed = FollowSlurm();
      const bool said = slurm.log.size() > lines;
      quiet = changed || said || out.size() > before ? 0 : quiet + 1;
    }
    refused = refused || Tells(out, RunEvent::Kind::kRefused) || !AllStarted();
    if (refused) out.clear();
    std::erase_if(out, [](const RunEvent& event) {
      return event.kind == RunEvent::Kind::kSubmitted;  // the test submits by itself
    });
  }

  // Whether nothing that was released waits in Slurm's queue.
  bool AllStarted() {
    const auto jobs = slurm.Jobs({});
    return std::none_of(jobs->begin(), jobs->end(), [](const engine::SlurmJob& job) {
      return job.phase == engine::SlurmPhase::kPending && job.priority > 0;
    });
  }

  // What runs in Slurm runs in the world, and nothing else. By Slurm's words alone.
  bool FollowSlurm() {
    bool changed = false;
    const auto jobs = slurm.Jobs({});
    for (const bool starts_now : {false, true}) {  // who leaves makes room first
      for (const engine::SlurmJob& job : *jobs) {
        const bool runs = job.phase == engine::SlurmPhase::kRunning;
        const auto found = running_.find(job.id);
        if (runs != starts_now || runs == (found != running_.end())) continue;
        changed = true;
        if (!runs) {
          stubs_.Stop(found->second, Seconds(0));
          running_.erase(found);
          continue;
        }
        const auto request = RequestOf(job);
        running_[job.id] = request.id;
        stubs_.Start(request);
        ++starts;
      }
    }
    return changed;
  }

  engine::RunRequest RequestOf(const engine::SlurmJob& job) const {
    const auto note = engine::ParseJobNote(job.admin_comment);
    engine::RunRequest request;
    if (!note || !note->put || job.nodes.size() != 1) {
      ADD_FAILURE() << "job " << job.id << ": " << job.admin_comment << ", nodes "
                    << fmt::format("{}", fmt::join(job.nodes, ","));
      return request;
    }
    request.id = {job.id, note->put->attempt};
    request.cores = note->put->cores;
    for (const engine::SlurmSlot& slot : job.slots) {
      const auto& kept = note->put->kept;
      if (std::find(kept.begin(), kept.end(), slot.slot) != kept.end()) continue;
      const std::string uuid = job.nodes.front() + "/" + slot.slot;
      for (const core::GivenGpu& gpu : gpus) {
        if (gpu.uuid == uuid) request.gpus.push_back(gpu);
      }
    }
    EXPECT_FALSE(request.gpus.empty());
    return request;
  }

  fixtures::StubRunner stubs_;
  engine::SlurmControl control_;
  std::map<std::int64_t, engine::RunId> running_;  // by Slurm's number
  std::vector<RunEvent> begun_;                    // to be told
  bool asked_ = false;
};

struct ThroughSlurm {
  DecisionLog log;
  std::string wrong;
  int starts = 0;
  bool refused = false;
};

ThroughSlurm DecideThroughSlurm(const Case& c, const std::string& name) {
  sim::World world(c.cluster, c.jobs, c.truth, c.interference, {c.belief.seed, Seconds(30)});
  engine::LiveEngine* told = nullptr;
  const auto memory = [&](core::JobId job) {
    return sim::Believe(c.jobs[job.index()], c.truth[job.index()], c.belief).gpu_memory_upper;
  };
  ParityRunner runner(
      c.cluster, world,
      [&](const core::Job& job) {
        told->Submit(job, fixtures::StubRunner::RequestOf(job));
        told->SetPace(job.id, {std::nullopt, 0, memory(job.id)});
      },
      [&](core::JobId job, core::Ratio rate) {
        told->SetPace(job, {rate > 0 ? std::optional(rate) : std::nullopt, rate, memory(job)});
      });
  engine::LiveEngine engine(c.cluster, runner.gpus, runner, {.grace = Seconds(0)});
  told = &engine;
  ThroughSlurm done{Decide(c, name, engine), runner.slurm.wrong, runner.starts, runner.refused};
  std::set<engine::RunId> ended;
  for (const auto& end : engine.TakeEnded()) {
    EXPECT_TRUE(ended.insert(end.run).second) << "job " << end.run.job << " ended twice";
  }
  if (!runner.refused) {
    EXPECT_EQ(ended.size(), static_cast<std::size_t>(runner.starts)) << "each start has one end";
  }
  return done;
}

Case SlurmScenario(std::uint64_t seed, std::size_t models) {
  fixtures::Dice dice(seed);
  fixtures::ClusterBuilder builder;
  for (std::size_t m = 0; m < models; ++m) builder.Model(m == 0 ? "A" : "B");
  for (std::size_t m = 0; m < models; ++m) builder.Node(4, m).Cores(64);
  std::vector<fixtures::JobSpec> specs;
  double submit = 0;
  const int jobs = dice.Between(20, 40);
  for (int j = 0; j < jobs; ++j) {
    fixtures::JobSpec job;
    job.submit = submit;
    job.seconds = dice.LogUniform(20, 4000);
    job.busy = dice.Uniform(0.05, 1);
    job.sm = job.busy * dice.Uniform(0.3, 1);
    job.dram = dice.Uniform(0, 0.6);
    job.gib = dice.LogUniform(0.5, 7.5);
    job.user = static_cast<std::size_t>(dice.Between(0, 3));
    job.wants_cores = dice.Uniform(0.2, 4);
    job.exclusive = dice.Chance(0.1);
    if (dice.Chance(0.5)) job.cores = dice.Between(1, 4);
    if (dice.Chance(0.1)) job.priority = 1;
    if (models > 1) {
      job.rates = {1, dice.Uniform(1, 2)};
    } else if (dice.Chance(0.1)) {
      job.gpus = dice.Between(2, 3);
    }
    specs.push_back(job);
    if (!dice.Chance(0.3)) submit += dice.Uniform(0, 120);
  }
  return fixtures::CaseOf(builder.Build(), specs);
}

// One difference is Slurm's own: a job that comes back to another slot keeps a shard of the one
// that it had (JobNote::Put::kept), and where none is free its start is refused. Up to there, all
// is the same.
TEST(SlurmParity, TheSameDecisionsAsTheSimulatedEngine) {
  int starts = 0;
  std::size_t whole = 0, stops = 0;
  for (const std::size_t models : {std::size_t(1), std::size_t(2)}) {
    const Case c = SlurmScenario(models, models);
    for (const std::string& name : fixtures::EveryPolicy()) {
      // Its moves are free by its model, and no process moves for nothing.
      if (name.find("reactive") != std::string::npos) continue;
      SCOPED_TRACE(fmt::format("{}, {} models", name, models));
      fixtures::SimulatedCase simulated(c);
      const DecisionLog expected = Decide(c, name, simulated.engine);
      const ThroughSlurm real = DecideThroughSlurm(c, name);
      if (real.refused) {
        EXPECT_THAT(expected.text, ::testing::StartsWith(real.log.text));
      } else {
        ASSERT_EQ(real.log.text, expected.text);
        ++whole;
      }
      EXPECT_EQ(real.wrong, "");
      starts += real.starts;
      stops += real.log.stops + real.log.moves;
    }
  }
  EXPECT_GT(starts, 500);
  EXPECT_GT(whole, 30U);
  EXPECT_GT(stops, 20U) << "preemptions and moves are among it";
}

}  // namespace
}  // namespace sharewell::control
