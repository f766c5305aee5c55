#include "measure/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <set>

#include "core/result.h"
#include "core/text/quoted.h"
#include "measure/watch_job.h"
#include "measure/watch_sampler.h"
#include "measure/watch_world.h"

namespace sharewell::measure {
namespace {

using core::Seconds;
using core::UsageError;

// A job that ends soon is read a few times early on, or nothing would be known of it.
constexpr double kEarly[] = {0.1, 0.4};
// By then most jobs have loaded their framework; asked again when they are steady.
constexpr std::size_t kDeeperTick = 3;
// Who looks often enough finds a quiet moment in any noise: it must stay settled for so long.
constexpr int kSettledTicks = 3;
// Between looks at the stop token.
constexpr Seconds kLook{0.2};

core::Result<void> CheckSpecs(std::span<const RunSpec> specs, const WatchOptions& options) {
  if (specs.empty()) return UsageError("there is nothing to run");
  if (!(options.interval >= Seconds(0.01))) {
    return UsageError("an interval of {:g} s is too short; 0.1 s is the shortest that GPUs allow",
                      options.interval.value);
  }
  std::set<std::string> names;
  for (const RunSpec& spec : specs) {
    if (spec.name.empty()) return UsageError("a job has no name");
    if (!names.insert(spec.name).second) {
      return UsageError("two jobs are named {}", core::Quoted(spec.name));
    }
    if (auto ok = CheckExpression(spec.throughput); !ok) return ok;
  }
  return {};
}

class Watcher {
 public:
  Watcher(const WatchOptions& options, WatchWorld& world) : options_(options), world_(world) {}

  core::Result<Watched> Run(std::span<const RunSpec> specs) {
    if (options_.memory) together_ = platform::Cgroup::Make("set", {.memory = options_.memory});
    for (const RunSpec& spec : specs) {
      auto job = WatchJob::Make(spec, together_.get(), options_.memory);
      RETURN_IF_ERROR(job);
      jobs_.push_back(std::move(*job));
    }
    sampler_.emplace(options_, running_, world_);
    // What was there before: GPU memory that others hold, counters to count from.
    born_ = world_.Now();
    Sample();
    for (const auto& job : jobs_) {
      // All that were started go with this object.
      RETURN_IF_ERROR(job->Start(world_));
    }
    created_ = world_.Wall();
    ticks_ = {world_.Now()};
    while (!Over()) Step();
    return Finish();
  }

 private:
  enum class End { kNot, kEnough, kTooLong, kJobEnded, kInterrupted };

  void Sample() {
    running_.Look(jobs_);
    sampler_->Sample(world_.Now());
  }

  Seconds Start() const { return ticks_.front(); }

  // The next tick, or an early reading before the first one.
  Seconds NextReading() const {
    const Seconds next = ticks_.back() + options_.interval;
    if (ticks_.size() == 1 && early_ < std::size(kEarly)) {
      return std::min(next, Start() + Seconds(kEarly[early_]));
    }
    return next;
  }

  void Step() {
    const Seconds next = NextReading();
    const Seconds left = std::max(Seconds(0), next - world_.Now());
    world_.Wait(options_.stop.stop_possible() ? std::min(left, kLook) : left);
    while (const auto signal = world_.NextSignal()) Pass(*signal);
    if (options_.stop.stop_requested()) {
      end_ = End::kInterrupted;
      return;
    }
    LookForEnds();
    if (end_ != End::kNot || world_.Now() < next) return;
    if (next < ticks_.back() + options_.interval) {
      ++early_;
      Sample();
      return;
    }
    Tick();
  }

  void Pass(const platform::PassedSignal& signal) {
    for (const auto& job : jobs_) job->process()->Pass(signal);
    if (signal.number == SIGWINCH) return;
    interrupted_ = true;
    // The first one is the job's to act on; who sends another wants it to end.
    if (++signals_ > 1) end_ = End::kInterrupted;
  }

  void LookForEnds() {
    std::size_t finished = 0;
    for (const auto& job : jobs_) finished += job->Finished() ? 1 : 0;
    if (finished == 0) return;
    // From here on not all of them run, so that the common window is over.
    if (!common_end_) common_end_ = ticks_.back();
    if (options_.until != Until::kEnd || finished == jobs_.size()) end_ = End::kJobEnded;
  }

  void Tick() {
    Sample();
    ticks_.push_back(world_.Now());
    const Seconds wall(static_cast<double>(world_.Wall()) * 1e-3);
    for (const auto& job : jobs_) job->Tick(sampler_->series(), ticks_, wall);
    if (options_.until != Until::kEnd || options_.line) FindWindow();
    const std::size_t tick = ticks_.size() - 1;
    if (tick == kDeeperTick || (window_ && !was_steady_)) LookDeeper();
    was_steady_ = was_steady_ || window_;
    Show(window_ ? WatchLine::State::kSteady : WatchLine::State::kWarming);
    const Seconds elapsed = ticks_.back() - Start();
    const Seconds steady = window_ ? window_->length() : Seconds(0);
    if (options_.until == Until::kSettled) {
      if (elapsed >= options_.at_most) end_ = End::kTooLong;
      settled_ticks_ = settled_ ? settled_ticks_ + 1 : 0;
      if (settled_ticks_ >= kSettledTicks || steady >= options_.longest) end_ = End::kEnough;
    } else if (options_.until == Until::kFor) {
      // Half an interval of slack: ticks come a little late, and one more would be one too many.
      if (elapsed >= options_.at_most + options_.window) end_ = End::kTooLong;
      if (steady + options_.interval / 2 >= options_.window) end_ = End::kEnough;
    }
  }

  void LookDeeper() {
    for (const auto& job : jobs_) job->LookDeeper(sampler_->series(), options_);
  }

  // The window in which all are steady, up to the last tick at which all ran.
  void FindWindow() {
    window_.reset();
    settled_ = false;
    uncertainty_.reset();
    const Seconds to = common_end_.value_or(ticks_.back());
    std::size_t from = 0;
    for (const auto& job : jobs_) {
      const Signal signal = job->Primary(options_);
      std::size_t first = signal.first;
      if (options_.warmup) {
        while (first + 1 < ticks_.size() && ticks_[first] < Start() + *options_.warmup) ++first;
      } else {
        const std::size_t known = TickAt(to) - std::min(TickAt(to), signal.first);
        const auto values = signal.values.first(std::min(known, signal.values.size()));
        const auto cut = WarmupEnd(values, signal.rules);
        if (!cut) return;
        first += *cut;
      }
      from = std::max(from, first);
    }
    if (ticks_[from] >= to) return;
    window_ = Span{ticks_[from], to};
    settled_ = true;
    for (const auto& job : jobs_) {
      const core::Settling settling = SettlingOf(*job, *window_);
      settled_ = settled_ && settling.settled;
      if (settling.uncertainty) {
        uncertainty_ = std::max(uncertainty_.value_or(0), *settling.uncertainty);
      }
    }
  }

  // Value i of a signal is of the time from tick i to tick i + 1.
  std::size_t TickAt(Seconds time) const {
    const auto it = std::lower_bound(ticks_.begin(), ticks_.end(), time);
    return static_cast<std::size_t>(std::distance(ticks_.begin(), it));
  }

  core::Settling SettlingOf(const WatchJob& job, Span window) const {
    const Signal signal = job.Primary(options_);
    const std::size_t from = std::max(TickAt(window.from), signal.first) - signal.first;
    const std::size_t to = std::min(TickAt(window.to) - std::min(TickAt(window.to), signal.first),
                                    signal.values.size());
    if (to <= from) return {};
    core::Settling settling = Settle(signal.values.subspan(from, to - from), signal.rules);
    settling.settled = settling.settled && job.EnoughArrivals(window);
    return settling;
  }

  void Show(WatchLine::State state) {
    if (!options_.line) return;
    WatchLine line;
    line.state = state;
    line.elapsed = world_.Now() - Start();
    line.steady = window_ ? window_->length() : Seconds(0);
    if (options_.until == Until::kFor) line.goal = options_.window;
    line.uncertainty = uncertainty_;
    for (const auto& job : jobs_) line.jobs.push_back(job->Line(sampler_->series(), ticks_));
    options_.line(line);
  }

  bool Over() const { return end_ != End::kNot; }

  core::Result<Watched> Finish() {
    if (end_ == End::kJobEnded || ticks_.size() == 1) {
      // What ended is read once more: its last steps, and counters that outlive it.
      Sample();
      ticks_.push_back(world_.Now());
      if (common_end_ && *common_end_ == Start()) common_end_ = ticks_.back();
      const Seconds wall(static_cast<double>(world_.Wall()) * 1e-3);
      for (const auto& job : jobs_) job->Tick(sampler_->series(), ticks_, wall);
    }
    if (end_ != End::kJobEnded) LookDeeper();
    Show(WatchLine::State::kStopping);
    if (end_ == End::kJobEnded || end_ == End::kInterrupted) FindWindow();
    for (const auto& job : jobs_) job->Stop(options_.grace);

    const bool steady = window_.has_value();
    if (!steady) window_ = WithoutSteadyState();
    Watched watched;
    watched.interrupted = interrupted_ || end_ == End::kInterrupted;
    for (const auto& job : jobs_) {
      if (job->MemoryKilled()) watched.memory_killed.insert(job->spec().name);
      core::Settling settling = SettlingOf(*job, *window_);
      settling.settled = settling.settled && steady;
      AddNotes(*job, steady, settling);
      watched.records.push_back(job->Record(sampler_->series(),
                                            {.start = Start(),
                                             .window = *window_,
                                             .life = {born_ - Seconds(1), world_.Now()},
                                             .created = created_,
                                             .settling = settling,
                                             .only = jobs_.size() == 1},
                                            options_));
    }
    return watched;
  }

  // A job that ended is taken whole; one that could have gone on has left half of it as warm-up.
  Span WithoutSteadyState() const {
    const Seconds to = common_end_.value_or(ticks_.back());
    const Seconds from = end_ == End::kTooLong ? Start() + (to - Start()) / 2 : Start();
    return {from, std::max(from, to)};
  }

  void AddNotes(WatchJob& job, bool steady, const core::Settling& settling) {
    const Seconds life = ticks_.back() - Start();
    if (!steady && end_ == End::kTooLong) {
      job.AddNote(fmt::format("no steady state in {:.0f} s: these are figures of the second half",
                              life.value));
    } else if (!steady && end_ != End::kEnough) {
      job.AddNote(
          fmt::format("{} after {:.1f} s, before a steady state: these are figures of its "
                      "whole life, not settled",
                      end_ == End::kJobEnded ? "ended" : "stopped", life.value));
    } else if (!settling.settled && options_.until == Until::kSettled && end_ != End::kJobEnded) {
      job.AddNote(fmt::format("had not settled after {:.0f} s", life.value));
    }
    for (const std::string& note : sampler_->Notes()) job.AddNote(note);
  }

  const WatchOptions& options_;
  WatchWorld& world_;
  StartedJobs running_;
  std::unique_ptr<platform::Cgroup> together_;  // goes after those in it
  std::vector<std::unique_ptr<WatchJob>> jobs_;
  std::optional<WatchSampler> sampler_;
  std::vector<Seconds> ticks_;  // the start, then the end of each interval
  std::size_t early_ = 0;
  Seconds born_;
  core::UnixMillis created_ = 0;
  std::optional<Seconds> common_end_;
  std::optional<Span> window_;
  bool settled_ = false;
  int settled_ticks_ = 0;  // in a row
  std::optional<core::Ratio> uncertainty_;
  End end_ = End::kNot;
  bool interrupted_ = false;
  bool was_steady_ = false;
  int signals_ = 0;
};

}  // namespace

core::Result<Watched> Watch(std::span<const RunSpec> specs, const WatchOptions& options) {
  RETURN_IF_ERROR(CheckSpecs(specs, options));
  if (options.world != nullptr) return Watcher(options, *options.world).Run(specs);
  const auto machine = ThisMachine();
  return Watcher(options, *machine).Run(specs);
}

}  // namespace sharewell::measure
