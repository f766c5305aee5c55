// What the guard promises over many scripted and random histories: pauses evict nobody, and jobs
// are not put together and parted again for ever.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>

#include "control/loop/test_guard.h"
#include "core/numbers/random.h"
#include "testing/random_case.h"
#include "testing/sanitized.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Seconds;
using fixtures::Dice;
using fixtures::kFewer;

// One job's own ups and downs: pauses and validation passes now and then, jitter, a slow first
// epoch. None of it is anybody's fault.
struct Script {
  struct Pause {
    double from, to;
  };
  std::vector<Pause> pauses;
  double jitter = 0, slow_until = 0, slow_pace = 1;
  std::uint64_t seed = 0;

  double operator()(double t) const {
    const auto next = std::upper_bound(pauses.begin(), pauses.end(), t,
                                       [](double at, const Pause& p) { return at < p.from; });
    if (next != pauses.begin() && t < std::prev(next)->to) return 0;
    const auto second = static_cast<std::uint64_t>(t);
    const double noise = 1 + jitter * (2 * core::Uniform(core::HashOf({seed, second})) - 1);
    return noise * (t < slow_until ? slow_pace : 1);
  }
};

Script RandomScript(Dice& dice, std::uint64_t seed, double from, double until) {
  Script script;
  script.seed = seed;
  script.jitter = dice.Uniform(0, 0.1);
  const double length = dice.LogUniform(1, 60), period = length + dice.LogUniform(30, 400);
  for (double t = from + dice.Uniform(0, period); t < until;) {
    const double takes = length * dice.Uniform(0.5, 1);
    script.pauses.push_back({t, t + takes});
    t += std::max(takes + 5, period * dice.Uniform(0.7, 1.3));
  }
  return script;
}

TEST(GuardLaws, F20_Over200ScriptsOfPausesAndCheckpointsNobodyIsEvicted) {
  for (std::uint64_t seed = 1; seed <= 200 / kFewer; ++seed) {
    Dice dice(seed);
    GuardWorld world;
    const bool read = dice.Chance(0.5);  // SMs
    const double until = world.now.value + 1200;
    const int count = dice.Between(2, 3);
    for (int i = 0; i < count; ++i) {
      const JobId id = world.Add({0}, dice.LogUniform(0.2, 50));
      PlayedJob& loop = world.At(id);
      const Script script =
          RandomScript(dice, seed * 10 + static_cast<std::uint64_t>(i), world.now.value, until);
      Script own = script;
      if (dice.Chance(0.3)) {  // its first epoch is slow
        own.slow_until = world.now.value + dice.Uniform(20, 150);
        own.slow_pace = dice.Uniform(0.3, 0.8);
      }
      loop.own = own;
      loop.tells = !read || dice.Chance(0.9);
      if (dice.Chance(0.3)) loop.lot = std::ceil(loop.alone * dice.LogUniform(2, 20));
      // They share well: by at most 1.2, less than what any of them bears.
      loop.speed = i == 0 ? 1 : dice.Uniform(0.85, 1);
      if (i > 0) loop.standing.steps_alone = loop.alone;
      if (read) loop.sm_alone = dice.Uniform(0.1, 0.3);
      if (read && i > 0) loop.standing.sm_alone = loop.sm_alone;
      if (dice.Chance(0.5)) loop.standing.user = core::UserId(static_cast<std::size_t>(i));
      EXPECT_THAT(world.Run(dice.Uniform(60, 200)).leave, testing::IsEmpty()) << "seed " << seed;
      world.At(JobId(0)).speed = 0.9;
    }
    EXPECT_THAT(world.Run(600).leave, testing::IsEmpty()) << "seed " << seed;
  }
}

// A scheduler in small: it believes predictions until a pair was measured, and then the worse of
// the newest measurement and the mean, as server/learn/pair_memory.h does.
class History {
 public:
  History(std::uint64_t seed, bool renumbers) : dice_(seed), renumbers_(renumbers) {
    for (auto& row : truth_) {
      for (double& speed : row) speed = dice_.Uniform(0.3, 1);
    }
    for (std::size_t a = 0; a < kKinds; ++a) {
      for (std::size_t b = 0; b < kKinds; ++b) {
        predicted_[a][b] = std::min(1.0, truth_[a][b] * dice_.Uniform(0.8, 2));
      }
    }
    read_ = dice_.Chance(0.5);
    const int count = dice_.Between(5, 9);
    for (int i = 0; i < count; ++i) {
      Job job;
      job.number = i;
      job.kind = static_cast<std::size_t>(dice_.Between(0, kKinds - 1));
      job.user = static_cast<std::size_t>(dice_.Between(0, 1));
      job.work = dice_.Uniform(200, 900);
      job.script = RandomScript(dice_, seed * 100 + static_cast<std::uint64_t>(i), 0, 4000);
      jobs_.push_back(job);
    }
  }

  void Play() {
    for (int second = 0; second < 3000 && !Over(); ++second) {
      Place();
      Settle();
      const Verdict verdict = world_.Second();
      for (const MeasuredPair& pair : verdict.pairs) Learn(pair);
      for (const Eviction& eviction : verdict.leave) Evict(eviction);
      Finish();
      if (renumbers_ && second % 97 == 96) Renumber();
    }
  }

  std::string log, wrong;
  int evictions = 0;

 private:
  static constexpr int kKinds = 4;
  static constexpr std::size_t kGpus = 2;
  struct Job {
    int number = 0;
    std::size_t kind = 0, user = 0;
    double work = 0;  // steps
    Script script;
    std::optional<std::size_t> gpu;
    JobId id;
    double waits_until = 0;
    int evicted = 0;
    bool over = false;
  };
  struct Known {
    double sum = 0, newest = 0;
    int count = 0;
    double speed() const { return std::min(newest, sum / count); }
  };

  bool Over() const {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.over; });
  }

  std::vector<Job*> On(std::size_t gpu) {
    std::vector<Job*> there;
    for (Job& job : jobs_) {
      if (job.gpu == gpu) there.push_back(&job);
    }
    return there;
  }
  double Believed(const Job& a, const Job& b) const {
    const auto known = known_.find({a.kind, b.kind});
    return known == known_.end() ? predicted_[a.kind][b.kind] : known->second.speed();
  }
  bool Fits(const Job& job, const std::vector<Job*>& there) const {
    if (there.size() >= 3) return false;
    if (!there.empty() && job.evicted >= 2) return false;
    return std::all_of(there.begin(), there.end(), [&](const Job* other) {
      return other->evicted < 2 && Believed(job, *other) >= 1 / 1.25 &&
             Believed(*other, job) >= 1 / 1.25;
    });
  }
  void Place() {
    for (Job& job : jobs_) {
      if (job.over || job.gpu || world_.now.value < job.waits_until) continue;
      for (std::size_t gpu = 0; gpu < kGpus && !job.gpu; ++gpu) {
        if (!Fits(job, On(gpu))) continue;
        if (On(gpu).size() == 1) {
          const auto pair = std::minmax(job.number, On(gpu)[0]->number);
          if (parted_.contains(pair) && parted_.at(pair) == Knowledge(job, *On(gpu)[0])) {
            wrong = "put together again though nothing more is known";
          }
        }
        job.gpu = gpu;
        job.id = world_.Add({gpu}, 5);
        PlayedJob& loop = world_.At(job.id);
        loop.own = job.script;
        loop.standing.steps_alone = 5;
        loop.standing.user = core::UserId(job.user);
        loop.standing.evicted = job.evicted;
        if (read_)
          loop.sm_alone = loop.standing.sm_alone = 0.2 + 0.15 * static_cast<double>(job.kind);
      }
    }
  }
  // What each gets now.
  void Settle() {
    for (Job& job : jobs_) {
      if (!job.gpu) continue;
      double speed = 1;
      for (const Job* other : On(*job.gpu)) {
        if (other != &job) speed *= truth_[job.kind][other->kind];
      }
      world_.At(job.id).speed = speed;
    }
  }
  Job& Of(JobId id) {
    return *std::find_if(jobs_.begin(), jobs_.end(),
                         [&](const Job& job) { return job.gpu && job.id == id; });
  }
  int Knowledge(const Job& a, const Job& b) const {
    const auto known = known_.find({a.kind, b.kind});
    return known == known_.end() ? 0 : known->second.count;
  }
  void Learn(const MeasuredPair& pair) {
    const Job &a = Of(pair.a), &b = Of(pair.b);
    const auto add = [&](const Job& one, const Job& other, double speed) {
      Known& known = known_[{one.kind, other.kind}];
      known.sum += speed;
      known.newest = speed;
      ++known.count;
    };
    add(a, b, pair.speed_a);
    if (a.kind != b.kind && pair.speed_b) add(b, a, *pair.speed_b);
  }
  void Evict(const Eviction& eviction) {
    Job& job = Of(eviction.job);
    const auto there = On(*job.gpu);
    if (there.size() == 2) {
      const Job& other = there[0] == &job ? *there[1] : *there[0];
      parted_[std::minmax(job.number, other.number)] = Knowledge(job, other);
    }
    log += std::to_string(job.number) + " leaves at " + std::to_string(world_.now.value) + "\n";
    ++evictions;
    if (++job.evicted > 2) wrong = "evicted more than twice in a row";
    Take(job);
    job.waits_until = world_.now.value + 5;
  }
  void Take(Job& job) {
    job.work -= world_.At(job.id).done;
    world_.jobs.erase(job.id);
    job.gpu.reset();
  }
  void Finish() {
    for (Job& job : jobs_) {
      if (!job.gpu || world_.At(job.id).done < job.work) continue;
      log += std::to_string(job.number) + " ends at " + std::to_string(world_.now.value) + "\n";
      Take(job);
      job.over = true;
    }
  }
  void Renumber() {
    std::size_t most = 0;
    for (const auto& [id, loop] : world_.jobs) most = std::max(most, id.index() + 1);
    std::vector<bool> stays(most);
    for (const auto& [id, loop] : world_.jobs) stays[id.index()] = true;
    const core::Renumbering ids(stays);
    world_.Renumber(stays);
    for (Job& job : jobs_) {
      if (job.gpu) job.id = ids.Of(job.id);
    }
  }

  Dice dice_;
  bool renumbers_, read_ = false;
  std::array<std::array<double, kKinds>, kKinds> truth_{}, predicted_{};
  std::map<std::pair<std::size_t, std::size_t>, Known> known_;
  std::map<std::pair<int, int>, int> parted_;  // what was known then
  std::vector<Job> jobs_;
  GuardWorld world_;
};

TEST(GuardLaws, NobodyIsPutTogetherAndPartedForEver) {
  int evictions = 0;
  for (std::uint64_t seed = 1; seed <= 100 / kFewer; ++seed) {
    History history(seed, false), renumbered(seed, true);
    history.Play();
    EXPECT_EQ(history.wrong, "") << "seed " << seed << "\n" << history.log;
    evictions += history.evictions;
    if (seed % 4 != 0) continue;
    renumbered.Play();
    EXPECT_EQ(history.log, renumbered.log) << "the same again, whatever ids jobs have; " << seed;
  }
  EXPECT_GT(evictions, 50 / kFewer) << "the predictions were bad enough to be corrected";
}

}  // namespace
}  // namespace sharewell::control
