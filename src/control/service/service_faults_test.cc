// The whole service under faults drawn by seed: the store refuses, loses its answer, is slow or
// full; the clock jumps; the policy errs; supervisors are killed, starts are refused, MPS dies,
// GPUs are lost; the server is killed at any write and command, and begins anew on the same store
// and runs. Users submit, cancel, hold, release and drain all the while.
//
// SHAREWELL_SEEDS says how many histories; the seed of one that goes wrong is printed, and
// SHAREWELL_SEED runs that one alone.
#include <gtest/gtest.h>

#include <cstdlib>

#include "control/service/service.h"
#include "control/service/test_faults.h"
#include "core/numbers/random.h"
#include "testing/builders.h"
#include "testing/fake_runner.h"
#include "testing/policies.h"
#include "testing/random_case.h"
#include "testing/sanitized.h"

namespace sharewell::control {
namespace {

using core::Phase;
using core::Seconds;

constexpr int kGpus = 3;
constexpr Seconds kHealsWithin(1500);  // all that could run has, after the last fault
constexpr int kMostTurns = 20'000;
constexpr std::size_t kMostOwed = 500;  // of some dozens of jobs

const char* const kPolicies[] = {"slot",       "pack",           "sharewell",
                                 "fair+share", "srtf+pack+slim", "las+complement"};

std::string UuidOf(int gpu) { return fmt::format("GPU-{}", gpu); }

class FaultyAdvisor : public Advisor {
 public:
  FaultyAdvisor(const core::Cluster& cluster, std::unique_ptr<FaultyPolicy> policy)
      : cluster_(cluster), policy_(std::move(policy)) {}
  core::Result<void> Check(const core::Account&, const core::Submission&) override { return {}; }
  core::Needs NeedsOf(const core::Account&, const core::Submission&) override { return {}; }
  core::Estimate EstimateOf(const core::JobRecord& record) override {
    const auto kind = static_cast<double>(record.number % 5);
    return fixtures::EstimateOf(
        {.seconds = 5 + 5 * kind, .gpus = record.asked.gpus, .busy = 0.1 + 0.2 * kind}, cluster_);
  }
  core::WorkloadId WorkloadOf(const core::Account&, const core::Submission&) override { return {}; }
  const policy::Policy& Policy() override { return *policy_; }
  void LearnShared(const core::SharedRun&) override {}
  void LearnRun(const core::JobRecord&, const core::Profile&) override {}
  bool bad_plan() const { return policy_->bad; }

 private:
  const core::Cluster& cluster_;
  std::unique_ptr<FaultyPolicy> policy_;
};

class History {
 public:
  explicit History(std::uint64_t seed)
      : faults_(core::HashOf({seed, 1})),
        dice_(core::HashOf({seed, 2})),
        cluster_(fixtures::ClusterBuilder().Model("A").Node(kGpus).Cores(8).Build()),
        fake_({NodeHere()}, Chances(seed, dice_)),
        runner_(faults_, fake_),
        clock_(faults_, fake_),
        jobs_(faults_, [this](Seconds time) { Slow(time); }),
        interference_(fixtures::WithoutResidual()),
        advisor_(cluster_, NewPolicy(seed)) {
    faults_.refuse = dice_.Pick({0, 0.02, 0.1});
    faults_.lose = dice_.Pick({0, 0.02, 0.1});
    faults_.slow = dice_.Pick({0, 0.02});
    faults_.kill = dice_.Pick({0, 0.005, 0.02});
    faults_.bad_plan = dice_.Pick({0, 0.02});
    until_ = Seconds(dice_.Uniform(60, 200));
    jobs_.today = [this] { return clock_.True(); };
    runner_.happens = [this] { Happen(); };
    runner_.starts = [this](const engine::RunRequest& request) { CheckStart(request); };
  }

  // Empty: all went as it must.
  std::string Live() {
    for (int turn = 0; faults_.wrong.empty() && !over_; ++turn) {
      if (turn == kMostTurns) faults_.Wrong("the loop turns without end");
      try {
        if (service_ == nullptr && !Begin()) continue;
        if (!service_->Turn()) faults_.Wrong("the loop has ended");
        CheckTurn();
      } catch (const Killed&) {
        service_.reset();
        refused_.clear();  // nobody knows
        for (const auto* unsure : {&releasing_, &maybe_released_}) {
          for (const std::int64_t number : *unsure) held_.erase(number);
        }
        releasing_.clear();
        maybe_released_.clear();
      }
    }
    if (faults_.wrong.empty()) CheckEnd();
    return faults_.wrong;
  }

 private:
  static engine::RunnerNode NodeHere() {
    engine::RunnerNode node;
    node.name = "n0";
    node.cores = 8;
    for (int i = 0; i < kGpus; ++i) node.gpus.push_back({i, UuidOf(i), "A"});
    return node;
  }
  static fixtures::FakeRunnerOptions Chances(std::uint64_t seed, fixtures::Dice& dice) {
    fixtures::FakeRunnerOptions options;
    options.seed = seed;
    options.longest = Seconds(30);
    options.fail = dice.Pick({0, 0.1});
    options.twice = options.late = dice.Pick({0, 0.2});
    if (dice.Chance(0.3)) {  // a manager far away
      options.lose = options.lose_command = 0.1;
      options.list_every = Seconds(30);
    }
    return options;
  }
  std::unique_ptr<FaultyPolicy> NewPolicy(std::uint64_t seed) {
    policy::Options options;
    options.interference = &interference_;
    return std::make_unique<FaultyPolicy>(
        faults_, fixtures::MakePolicy(kPolicies[seed % std::size(kPolicies)], options));
  }

  bool Begin() {
    std::vector<GpuView> gpus(kGpus);
    for (int i = 0; i < kGpus; ++i) gpus[static_cast<std::size_t>(i)].gpu = NodeHere().gpus[i];
    ServiceOptions options;
    options.clock = &clock_;
    options.few_ids = 4;  // jobs get new ids all the while
    jobs_.up = true;      // nothing was written by this one
    service_ = std::make_unique<Service>(cluster_, gpus, runner_, advisor_, jobs_, options);
    if (service_->Open()) return true;
    service_.reset();
    fake_.Pass(Seconds(1));
    return false;
  }

  // A write takes so long. Whoever asks meanwhile is told.
  void Slow(Seconds time) {
    const bool turning = service_ != nullptr && service_->View().busy_for.has_value();
    fake_.Pass(time);
    if (turning && time > Seconds(10) && ProblemOf(service_->View()).empty()) {
      faults_.Wrong("the server calls itself healthy in a turn that does not end");
    }
  }

  // --- What users ask, and what goes wrong by itself.
  void Happen() {
    runner_.next = fake_.Now() + Seconds(dice_.Uniform(0, 6));
    if (fake_.Now() >= until_) return Heal();
    if (dice_.Chance(0.5)) return Ask();
    const std::string gpu = UuidOf(dice_.Between(0, kGpus - 1));
    switch (dice_.Between(0, 7)) {
      case 0:
        faults_.full = !faults_.full;
        break;
      case 1:
        faults_.clock_off =
            static_cast<core::UnixMillis>(dice_.Pick({0, -1e5, 1e5, -4e9, 4e10, 4e11}));
        break;
      case 2:
      case 3:
        if (const auto running = fake_.running(); !running.empty()) {
          fake_.LoseRun(running[static_cast<std::size_t>(
              dice_.Between(0, static_cast<int>(running.size()) - 1))]);
        }
        break;
      case 4:
        fake_.FailGpu(gpu);
        break;
      case 5:
        fake_.SetGpuLost(gpu, dice_.Chance(0.5));
        break;
      case 6:
        fake_.SetRefuse(dice_.Pick({0, 0, 1}));
        break;
      default:
        if (faults_.kill > 0 && dice_.Chance(0.5)) throw Killed();
    }
  }

  void Ask() {
    fixtures::Dice& dice = dice_;
    const std::int64_t number = dice.Between(1, static_cast<int>(last_number_) + 1);
    switch (dice.Between(0, 7)) {
      default:
        return Submit();
      case 0:
        return service_->Act(Action::kCancel, number, kRoot, [this, number](const auto& done) {
          if (done && (*done)->phase != Phase::kFailed) cancelled_.insert(number);
        });
      case 1:
        return service_->Act(Action::kHold, number, kRoot, [this, number](const auto& done) {
          if (done) held_.insert(number);
        });
      case 2:
        return Release(number);
      case 3:
        return service_->Drain(std::to_string(dice.Between(0, kGpus - 1)), dice.Chance(0.5), kRoot,
                               [](const core::Result<void>&) {});
    }
  }

  void Submit() {
    fixtures::Dice& dice = dice_;
    std::vector<core::Submission> all(static_cast<std::size_t>(dice.Between(1, 3)));
    std::vector<std::string> names;
    for (core::Submission& job : all) {
      job.command = {fmt::format("job-{}", ++submitted_)};
      names.push_back(job.command[0]);
      job.gpus = dice.Between(0, 2);
      if (job.gpus == 0) job.cores = dice.Between(1, 4);
      job.exclusive = dice.Chance(0.1);
      job.requeue = dice.Chance(0.9);
      job.held = dice.Chance(0.05);
      job.priority = dice.Between(0, 2);
      if (last_number_ > 0 && dice.Chance(0.2)) job.after = {last_number_};
    }
    service_->Submit(std::move(all), dice.Chance(0.5) ? kAnn : kBob,
                     [this, names](const core::Result<std::vector<JobPtr>>& told) {
                       if (!told) return refused_.insert(names.begin(), names.end());
                       Acknowledged(*told);
                     });
  }
  void Acknowledged(const std::vector<JobPtr>& told) {
    for (const JobPtr& job : told) {
      last_number_ = std::max(last_number_, job->number);
      if (!acknowledged_.emplace(job->number, job->asked.command[0]).second) {
        faults_.Wrong(fmt::format("two jobs are called {}", job->number));
      }
    }
  }
  void Release(std::int64_t number) {
    releasing_.insert(number);
    service_->Act(Action::kRelease, number, kRoot, [this, number](const auto& done) {
      if (done) held_.erase(number);
      // Refused, and the store may have it all the same: a server that is killed before it has
      // written that over leaves a job behind that is released.
      if (!done && !jobs_.up) maybe_released_.insert(number);
      releasing_.erase(number);
    });
  }

  // Nothing goes wrong any more, and nobody keeps anything back.
  void Heal() {
    faults_.on = false;
    fake_.SetLoss(0, 0);
    fake_.SetRefuse(0);
    fake_.SetFail(0);
    for (int i = 0; i < kGpus; ++i) {
      fake_.SetGpuLost(UuidOf(i), false);
      service_->Drain(std::to_string(i), false, kRoot, [](const core::Result<void>&) {});
    }
    const auto live = service_->board().Live();
    for (const JobPtr& job : live) {
      if (job->phase == Phase::kHeld) Release(job->number);
    }
    over_ = live.empty() && fake_.quiet() && fake_.Now() > until_ + Seconds(60);
    if (over_ || fake_.Now() < until_ + kHealsWithin) return;
    for (const JobPtr& job : live) {
      faults_.Wrong(fmt::format("{} jobs never end; job {} is {} ({}; {})", live.size(),
                                job->number, core::NameOf(job->phase), job->reason, job->note));
    }
    faults_.Wrong("a run is there that nobody waits for");
  }

  // --- What must hold.
  void CheckStart(const engine::RunRequest& request) {
    const std::int64_t number = request.id.job;
    const std::string& name = request.asked.command.at(0);
    const auto stored = jobs_.jobs.find(number);
    if (stored == jobs_.jobs.end() || stored->second.attempt < request.id.attempt) {
      faults_.Wrong(fmt::format("job {} is started before that is stored", number));
    } else if (core::IsOver(stored->second.phase)) {
      faults_.Wrong(fmt::format("job {} is started and is over", number));
    } else if (stored->second.asked.command.at(0) != name) {
      faults_.Wrong(fmt::format("job {} is started with the command of another", number));
    }
    if (refused_.contains(name)) faults_.Wrong(fmt::format("{} was refused and is started", name));
    if (held_.contains(number)) faults_.Wrong(fmt::format("job {} is held and started", number));
  }

  void CheckTurn() {
    const ServiceView view = service_->View();
    if (jobs_.up) maybe_released_.clear();  // what is true was written over it
    if (view.store_up != jobs_.up) faults_.Wrong("the store's health is not what is told");
    if (view.plan_problem.empty() == advisor_.bad_plan()) {
      faults_.Wrong("the policy's health is not what is told");
    }
    if (view.busy_for) faults_.Wrong("a turn is over and still said to be under way");
    if (ProblemOf(view).empty() != (jobs_.up && !advisor_.bad_plan())) {
      faults_.Wrong("the server's health is not what is told");
    }
    if (view.owed > kMostOwed) faults_.Wrong(fmt::format("{} things are owed", view.owed));
    if (!fake_.wrong.empty()) faults_.Wrong(fake_.wrong);
  }

  void CheckEnd() {
    const ServiceView view = service_->View();
    if (view.owed != 0) faults_.Wrong(fmt::format("{} things are still owed", view.owed));
    if (!ProblemOf(view).empty()) faults_.Wrong("a problem stays: " + ProblemOf(view));
    if (view.cores_given != 0) faults_.Wrong(fmt::format("{} cores are lost", view.cores_given));
    for (const auto& [number, name] : acknowledged_) {
      const auto found = jobs_.jobs.find(number);
      if (found == jobs_.jobs.end() || found->second.asked.command[0] != name) {
        faults_.Wrong(fmt::format("job {} was acknowledged and is lost", number));
      }
    }
    std::map<std::int64_t, std::vector<std::string>> ends;
    for (const auto& [id, event] : jobs_.events) {
      for (const Phase phase : {Phase::kFinished, Phase::kFailed, Phase::kCancelled}) {
        if (event.kind == fmt::format("job.{}", core::NameOf(phase))) {
          ends[event.job].push_back(event.kind);
        }
      }
    }
    for (const auto& [number, job] : jobs_.jobs) {
      const std::string kind = fmt::format("job.{}", core::NameOf(job.phase));
      if (ends[number] != std::vector{kind} && acknowledged_.contains(number)) {
        faults_.Wrong(fmt::format("job {} is {}, and that was told {} times", number,
                                  core::NameOf(job.phase), ends[number].size()));
      }
      if ((job.phase == Phase::kFinished) != fake_.finished().contains(number)) {
        faults_.Wrong(fmt::format("job {} is {}, and that is not how its run ended", number,
                                  core::NameOf(job.phase)));
      }
      if (cancelled_.contains(number) && job.phase == Phase::kFailed) {
        faults_.Wrong(fmt::format("job {} was cancelled and has failed", number));
      }
    }
  }

  Faults faults_;
  fixtures::Dice dice_;
  core::Cluster cluster_;
  fixtures::FakeRunner fake_;
  FaultyRunner runner_;
  FaultyClock clock_;
  FaultyJobs jobs_;
  interference::Interference interference_;
  FaultyAdvisor advisor_;
  std::unique_ptr<Service> service_;
  Seconds until_;
  bool over_ = false;
  int submitted_ = 0;
  std::int64_t last_number_ = 0;
  std::map<std::int64_t, std::string> acknowledged_;  // command by number
  std::set<std::string> refused_;                     // commands, by the server that is there
  std::set<std::int64_t> cancelled_, held_;           // acknowledged
  std::set<std::int64_t> releasing_;                  // asked for
  std::set<std::int64_t> maybe_released_;             // refused by a store that failed
};

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ServiceFaults, NoJobIsLostDoubledOrStuckWhateverGoesWrong) {
  constexpr std::uint64_t kSeeds = 2000 / fixtures::kFewer;
  const std::uint64_t first = FromEnvironment("SHAREWELL_SEED", 1);
  const bool one = std::getenv("SHAREWELL_SEED") != nullptr;
  const std::uint64_t seeds = one ? 1 : FromEnvironment("SHAREWELL_SEEDS", kSeeds);
  int wrong = 0;
  for (std::uint64_t seed = first; seed < first + seeds && wrong < 5; ++seed) {
    const std::string what = History(seed).Live();
    EXPECT_EQ(what, "") << "SHAREWELL_SEED=" << seed << " runs it alone";
    wrong += what.empty() ? 0 : 1;
  }
}

// Found among 200,000. The first: the next run of a job was given up while its last one was still
// leaving; the job was cancelled as one that waits, and its last run finished. The second: a
// release was refused, though the store had it, and the server was killed before it wrote that
// over.
TEST(ServiceFaults, SeedsThatOnceWentWrong) {
  for (const std::uint64_t seed : {192257, 196993}) {
    EXPECT_EQ(History(seed).Live(), "") << "SHAREWELL_SEED=" << seed << " runs it alone";
  }
}

}  // namespace
}  // namespace sharewell::control
