#include "measure/sensitivity/sensitivity_run.h"

#include <algorithm>
#include <csignal>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/job_metrics.h"
#include "core/numbers/steady.h"
#include "core/result.h"
#include "measure/profile_figures.h"

namespace sharewell::measure {
namespace {

using core::Seconds;

// Steps are looked for so often: a phase has a hundred looks.
constexpr Seconds kLookAtSteps{0.1};
// Parts of a phase, whose spread is its noise.
constexpr int kParts = 5;

}  // namespace

class PhasedRun::OneJob : public collect::JobSource {
 public:
  OneJob(std::string name, std::string cgroup)
      : name_(std::move(name)), cgroup_(std::move(cgroup)) {}

  const std::vector<collect::RunningJob>& Running() override {
    running_.clear();
    if (process) running_.push_back({name_, process->Pids(), cgroup_});
    return running_;
  }

  std::unique_ptr<WatchedJob> process;

 private:
  std::string name_, cgroup_;
  std::vector<collect::RunningJob> running_;
};

PhasedRun::PhasedRun(const RunSpec& spec, const WatchOptions& options, WatchWorld& world)
    : spec_(spec), options_(options), world_(world) {}

PhasedRun::~PhasedRun() = default;

core::Result<std::unique_ptr<PhasedRun>> PhasedRun::Start(const RunSpec& spec,
                                                          const WatchOptions& options,
                                                          WatchWorld& world) {
  RETURN_IF_ERROR(CheckExpression(spec.throughput));
  std::unique_ptr<PhasedRun> run(new PhasedRun(spec, options, world));
  auto throughput = Throughput::Make(spec.throughput);
  RETURN_IF_ERROR(throughput);
  run->throughput_ = *std::move(throughput);
  run->cgroup_ = platform::Cgroup::Make(spec.name, {.cpus = spec.cpus, .memory = spec.memory});
  run->job_ = std::make_unique<OneJob>(spec.name, run->cgroup_->folder());
  run->sampler_ = std::make_unique<WatchSampler>(run->options_, *run->job_, world);
  platform::ChildOptions child{.command = spec.command, .environment = spec.environment};
  child.folder = spec.folder;
  child.cpus = spec.cpus.value_or(std::vector<int>());
  child.cgroup_procs = run->cgroup_->procs();
  child.cgroup = run->cgroup_->folder();
  child.out = spec.out;
  child.err = spec.err;
  child.reads_stdin = spec.reads_stdin;
  if (const auto file = run->throughput_->File(); !file.empty()) {
    child.environment.emplace_back("SHAREWELL_PROGRESS", file);
  }
  const auto kind = spec.throughput.kind;
  if (kind == ThroughputSource::Kind::kSteps || kind == ThroughputSource::Kind::kRate) {
    for (platform::ChildOutput* output : {&child.out, &child.err}) {
      output->seen = [watched = run.get()](std::string_view piece) {
        watched->throughput_->Feed(piece, watched->world_.Now());
      };
    }
  }
  run->started_ = world.Now();
  auto process = world.Start(child);
  RETURN_IF_ERROR(process);
  run->job_->process = *std::move(process);
  run->sampler_->Sample(world.Now());
  run->sampled_ = world.Now();
  return run;
}

PhasedRun::State PhasedRun::Advance(Seconds time) {
  const Seconds until = world_.Now() + time;
  while (state_ == State::kRuns && world_.Now() < until) {
    world_.Wait(std::min(kLookAtSteps, until - world_.Now()));
    while (const auto signal = world_.NextSignal()) {
      job_->process->Pass(*signal);
      if (signal->number != SIGWINCH) state_ = State::kInterrupted;
    }
    throughput_->Poll(world_.Now(), Seconds(static_cast<double>(world_.Wall()) * 1e-3));
    if (world_.Now() - sampled_ >= options_.interval) {
      sampled_ = world_.Now();
      sampler_->Sample(sampled_);
    }
    if (const auto end = job_->process->Ended(); end && state_ == State::kRuns) {
      state_ = State::kEnded;
      exit_code_ = end->code;
    }
  }
  return state_;
}

PhasedRun::State PhasedRun::WarmUp(const std::optional<Seconds>& given, Seconds at_most) {
  if (given) return Advance(*given);
  core::SteadyRules rules;
  rules.interval = options_.interval;
  std::vector<double> rates;
  Seconds from = world_.Now();
  while (Advance(options_.interval) == State::kRuns && Age() < at_most) {
    const Seconds to = world_.Now();
    const auto rate = Mean(from, to);
    from = to;
    // Steps that are not told yet are not a rate of 0: the job still loads.
    if (!rate) continue;
    rates.push_back(*rate);
    if (WarmupEnd(rates, rules)) break;
  }
  return state_;
}

Seconds PhasedRun::Age() { return world_.Now() - started_; }

bool PhasedRun::TellsSteps() const { return throughput_->First().has_value(); }

std::optional<double> PhasedRun::Busy(Seconds from, Seconds to) const {
  const ProfileSeries& series = sampler_->series();
  std::optional<double> busy;
  for (const std::string& gpu : GpusOf(series, spec_.name)) {
    const auto figure = series.FigureOf(collect::kGpuBusy, gpu, "", {from, to});
    if (figure && figure->mean > 0) busy = busy.value_or(0) + figure->mean;
  }
  if (busy) return busy;
  const auto cores = series.FigureOf(collect::kJobCpuSeconds, "", spec_.name, {from, to});
  return cores ? std::optional(cores->mean) : std::nullopt;
}

std::optional<double> PhasedRun::Mean(Seconds from, Seconds to) const {
  if (!throughput_->Expected() && !TellsSteps()) return Busy(from, to);
  if (const auto smooth = throughput_->Smooth(from, to)) return smooth;
  // The last step of the span may still be under way.
  return throughput_->Rate(from, to);
}

PhaseRate PhasedRun::RateSince(Seconds age) {
  PhaseRate out;
  out.at = age;
  const Seconds from = started_ + age, to = world_.Now();
  out.mean = Mean(from, to);
  const Seconds step = (to - from) / kParts;
  for (int i = 0; i < kParts; ++i) {
    const auto part = Mean(from + step * i, from + step * (i + 1));
    if (part) out.parts.push_back(*part);
  }
  return out;
}

std::string PhasedRun::Measure() const {
  if (TellsSteps()) return "steps/s";
  return GpusOf(sampler_->series(), spec_.name).empty() ? "CPU cores" : "GPU busy";
}

std::vector<std::string> PhasedRun::Notes() const {
  std::vector<std::string> notes;
  for (const auto& missing : cgroup_->missing()) notes.push_back(missing.why);
  if (const auto note = throughput_->Note(); !note.empty()) notes.push_back(note);
  if (!TellsSteps()) {
    notes.emplace_back(
        "it told no steps: what is compared is how busy it was, and a job that waits for memory is "
        "as busy as before; let it write a line a step to $SHAREWELL_PROGRESS");
  }
  return notes;
}

void PhasedRun::Stop(Seconds grace) {
  job_->process->Stop(grace);
  job_->process->Drain();
}

}  // namespace sharewell::measure
