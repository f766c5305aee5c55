#include "simulation/starts/play_on.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "control/loop/loop.h"
#include "core/renumbering.h"
#include "engine/simulated/simulated_engine.h"
#include "sim/world.h"
#include "simulation/replay/job_history.h"

namespace sharewell::simulation {
namespace {

using core::JobId;
using core::JobState;
using core::JobView;
using core::Seconds;

constexpr Seconds kLikeBefore{3600};
constexpr Seconds kUnknownRest{600};
constexpr std::size_t kMostComing = 300;
constexpr Seconds kShortestRest{0.001};        // a job that is not over has something left
constexpr std::size_t kMostIdleTurns = 1'000;  // in which nothing starts

// Of the standard normal.
double UpperTail(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

// A world that begins now, with jobs at their places that did some of their work before.
class StandingEngine final : public engine::Engine {
 public:
  StandingEngine(sim::World& world, const core::Snapshot& snapshot)
      : world_(world), rest_(world), before_(world.jobs().size()) {
    for (std::size_t i = 0; i < snapshot.job_count(); ++i) {
      before_[i] = snapshot.attained(snapshot.job(JobId(i)));
    }
    sim::Events events;
    world_.AdvanceTo(Seconds(0), events);  // all that there are come at 0
    world_.AdvanceTo(snapshot.now(), events);
    std::vector<JobId> running(snapshot.running().begin(), snapshot.running().end());
    std::sort(running.begin(), running.end());
    for (const JobId id : running) {
      world_.Start(id, snapshot.job(id).allocation, std::nullopt);
    }
    world_.Settle(first_);
  }

  bool Observe(std::optional<Seconds> wake, engine::Observation& out) override {
    if (!fresh_) {
      const bool more = rest_.Observe(wake, out);
      AddBefore(out);
      return more;
    }
    fresh_ = false;
    out = {};
    out.now = world_.now();
    for (const auto& p : first_.progress) out.progress.push_back({p.job, p.attained, p.rate});
    AddBefore(out);
    return true;
  }

  void Apply(const core::Plan& plan, engine::Observation& out) override {
    rest_.Apply(plan, out);
    AddBefore(out);
  }

 private:
  void AddBefore(engine::Observation& out) const {
    for (auto& progress : out.progress) progress.attained += before_[progress.job.index()];
  }

  sim::World& world_;
  engine::SimulatedEngine rest_;
  std::vector<Seconds> before_;  // by job: work done
  sim::Events first_;
  bool fresh_ = true;
};

core::Renumbering LivingOf(const core::Snapshot& snapshot) {
  std::vector<bool> lives(snapshot.job_count(), false);
  for (const JobId id : snapshot.waiting()) lives[id.index()] = true;
  for (const JobId id : snapshot.running()) lives[id.index()] = true;
  return core::Renumbering(lives);
}

// Those behind the front of the line are taken out. Who stands there is not to be played.
void KeepFront(const policy::Policy& policy, std::size_t most, core::Snapshot& snapshot) {
  if (snapshot.waiting().size() <= most) return;
  const std::vector<JobId> line = policy.InTurn(snapshot).jobs;
  std::vector<bool> stays(snapshot.job_count(), false);
  for (std::size_t i = 0; i < std::min(most, line.size()); ++i) stays[line[i].index()] = true;
  const std::vector<JobId> waiting(snapshot.waiting().begin(), snapshot.waiting().end());
  for (const JobId id : waiting) {
    if (!stays[id.index()]) snapshot.Finish(id, JobState::kFailed);
  }
}

// What a world needs of the jobs of a snapshot.
struct Believed {
  std::vector<core::Job> jobs;
  std::vector<sim::TrueJob> truth;
  std::vector<core::Estimate> estimates;

  void Add(const core::Snapshot& snapshot, const JobView& view, JobId id, Seconds submit,
           std::optional<Seconds> work) {
    jobs.push_back(view.job);
    jobs.back().id = id;
    jobs.back().submit = submit;
    auto on = view.estimate.on;
    on.resize(snapshot.cluster().models().size());
    // What was let in fits. How much memory it really takes nobody knows yet.
    for (auto& there : on) there.demand.gpu_memory = {};
    truth.push_back(
        {work ? std::max(*work, kShortestRest) : kNoEnd, std::move(on), view.estimate.cpu_curve});
    estimates.push_back(view.estimate);
  }
};

// Those that are there; they come to the world at its begin.
void AddLiving(const core::Snapshot& snapshot, Rests rests, double duration_error, Believed& out) {
  for (std::size_t i = 0; i < snapshot.job_count(); ++i) {
    const JobView& view = snapshot.job(JobId(i));
    std::optional<Seconds> rest = rests[i];
    if (!rest && view.estimate.duration) {
      rest = LikelyRest(*view.estimate.duration, snapshot.attained(view), duration_error);
    }
    if (view.job.placeholder) rest.reset();
    out.Add(snapshot, view, JobId(i), Seconds(0), rest);
  }
}

// Those that come, if the next hours are like the last one.
void AddComing(const core::Snapshot& from, Believed& out) {
  std::vector<JobId> last;
  for (std::size_t i = 0; i < from.job_count(); ++i) {
    const core::Job& job = from.job(JobId(i)).job;
    if (!job.placeholder && job.submit > from.now() - kLikeBefore) last.emplace_back(i);
  }
  std::stable_sort(last.begin(), last.end(), [&](JobId a, JobId b) {
    return from.job(a).job.submit < from.job(b).job.submit;
  });
  for (std::size_t i = 0; !last.empty() && i < kMostComing; ++i) {
    const JobView& like = from.job(last[i % last.size()]);
    const std::size_t round = 1 + i / last.size();
    const Seconds submit = std::max(like.job.submit, from.now() - kLikeBefore) +
                           kLikeBefore * static_cast<double>(round);
    // What was seen of one that is over; of one of which nothing is known, what policies expect.
    const Seconds done = from.attained(like);
    const bool over = like.state == JobState::kFinished;
    const Seconds work = over && done.value > 0   ? done
                         : like.estimate.duration ? *like.estimate.duration
                                                  : std::max(kUnknownRest, done * 2.0);
    out.Add(from, like, JobId(out.jobs.size()), submit, work);
  }
}

}  // namespace

core::Result<std::vector<Played>> PlayOn(const core::Snapshot& from, const policy::Policy& policy,
                                         const interference::Interference& interference,
                                         Rests rests, const PlayOnOptions& options) {
  const core::Renumbering ids = LivingOf(from);
  core::Snapshot snapshot = from;
  snapshot.Renumber(ids);
  KeepFront(policy, options.most_waiting, snapshot);
  const JobId until = ids.Of(options.until);
  std::vector<Played> played(from.job_count());
  if (until.valid() && snapshot.job(until).state == JobState::kFailed) return played;  // behind all
  std::vector<std::optional<Seconds>> told(ids.staying());
  for (std::size_t i = 0; i < rests.size(); ++i) {
    if (const JobId id = ids.Of(JobId(i)); id.valid()) told[id.index()] = rests[i];
  }
  Believed believed;
  AddLiving(snapshot, told, options.duration_error, believed);
  if (options.more_come) AddComing(from, believed);
  sim::World world(snapshot.cluster(), believed.jobs, believed.truth, interference,
                   {.residual = false});
  StandingEngine engine(world, snapshot);
  PlayEstimator estimator(believed.estimates);
  PlayRecorder recorder(believed.jobs.size());
  for (const JobId id : snapshot.running()) recorder.Seated(id);
  const Seconds now = snapshot.now();
  const std::vector<JobId> waiting(snapshot.waiting().begin(), snapshot.waiting().end());
  control::Loop loop(snapshot, policy, engine, estimator, recorder);
  std::size_t idle = 0, before = 0, started = 0;  // the last: of those that wait, the first so many
  for (std::size_t turn = 0; turn < options.most_turns && idle <= kMostIdleTurns; ++turn) {
    while (started < waiting.size() && recorder.Of(waiting[started]).start) ++started;
    if (started == waiting.size()) break;
    if (until.valid() && recorder.Of(until).start) break;
    if (options.go_on && !options.go_on()) break;
    if (turn > 0 && world.NextEvent().value_or(now) > now + options.horizon) break;
    const auto more = loop.Turn();
    RETURN_IF_ERROR(more);
    if (!*more) break;
    idle = recorder.started() == before ? idle + 1 : 0;
    before = recorder.started();
  }
  for (std::size_t i = 0; i < played.size(); ++i) {
    if (const JobId id = ids.Of(JobId(i)); id.valid()) played[i] = recorder.Of(id);
  }
  return played;
}

Seconds LikelyRest(Seconds whole, Seconds done, double duration_error) {
  const Seconds plain = std::max(whole - done, whole * 0.02);  // as policies have it
  if (duration_error <= 0 || done.value <= 0 || whole.value <= 0) return plain;
  // The median of what is log-normal, and more than `done`.
  const double z = std::log(done / whole) / duration_error;
  const double above = UpperTail(z) / 2;
  double low = z, high = z + 10;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (UpperTail(middle) > above ? low : high) = middle;
  }
  return std::max(whole * std::exp(duration_error * low) - done, plain * 0.5);
}

}  // namespace sharewell::simulation
