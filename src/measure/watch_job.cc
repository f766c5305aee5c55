#include "measure/watch_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catalogue/gpu_catalogue.h"
#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/host_metrics.h"
#include "core/numbers/statistics.h"
#include "core/result.h"
#include "measure/profile_figures.h"
#include "platform/process/cpu_set.h"
#include "platform/process/descendants.h"

namespace sharewell::measure {
namespace {

using core::Seconds;

// Without steps a phase of loading or compiling looks as steady as training: a longer look.
constexpr Seconds kLeastBlind{15};
constexpr Seconds kLeastSteps{5};
// A rate that few arrivals tell of may be chance, however even it looks in between.
constexpr int kLeastArrivals = 5;
// Below these nothing is to be told apart from rest.
constexpr double kCoresFloor = 0.02;
constexpr double kBusyFloor = 0.005;

std::optional<double> Now(const ProfileSeries& series, const core::Metric& metric,
                          const std::string& instance, const std::string& job, Seconds since) {
  return series.Latest(metric, instance, job, since);
}

std::optional<double> OverInstances(const ProfileSeries& series, const core::Metric& metric,
                                    const std::vector<std::string>& instances,
                                    const std::string& job, Seconds since) {
  double sum = 0;
  for (const std::string& instance : instances) {
    const auto value = Now(series, metric, instance, job, since);
    if (!value) return std::nullopt;
    sum += *value;
  }
  if (instances.empty()) return std::nullopt;
  return sum / static_cast<double>(instances.size());
}

// A tick that was not read repeats the one before.
void Extend(std::vector<double>& signal, std::optional<double> value) {
  signal.push_back(value.value_or(signal.empty() ? 0 : signal.back()));
}

template <class T>
std::optional<T> In(std::optional<double> value) {
  return value ? std::optional<T>(T(*value)) : std::nullopt;
}

}  // namespace

WatchJob::WatchJob(const RunSpec& spec, std::unique_ptr<Throughput> throughput,
                   std::unique_ptr<platform::Cgroup> cgroup)
    : spec_(spec), throughput_(std::move(throughput)), cgroup_(std::move(cgroup)) {}

core::Result<std::unique_ptr<WatchJob>> WatchJob::Make(const RunSpec& spec,
                                                       const platform::Cgroup* together,
                                                       std::optional<core::Bytes> memory) {
  auto throughput = Throughput::Make(spec.throughput);
  RETURN_IF_ERROR(throughput);
  platform::CgroupLimits limits{
      .cpus = spec.cpus, .cpu_time = spec.cpu_time, .memory = spec.memory};
  // One that has no bound of its own is in a group of its own all the same.
  if (!limits.memory) limits.memory = memory;
  auto cgroup = together == nullptr ? platform::Cgroup::Make(spec.name, limits)
                                    : platform::Cgroup::MakeWithin(*together, spec.name, limits);
  std::unique_ptr<WatchJob> job(new WatchJob(spec, std::move(*throughput), std::move(cgroup)));
  for (const auto& missing : job->cgroup_->missing()) job->AddNote(missing.why);
  return job;
}

core::Result<void> WatchJob::Start(WatchWorld& world) {
  world_ = &world;
  platform::ChildOptions options{.command = spec_.command,
                                 .environment = spec_.environment,
                                 .folder = spec_.folder,
                                 .cpus = spec_.cpus.value_or(std::vector<int>()),
                                 .cgroup_procs = cgroup_->procs(),
                                 .cgroup = cgroup_->folder(),
                                 .out = spec_.out,
                                 .err = spec_.err,
                                 .reads_stdin = spec_.reads_stdin};
  if (const std::string file = throughput_->File(); !file.empty()) {
    options.environment.emplace_back("SHAREWELL_PROGRESS", file);
  }
  const auto kind = spec_.throughput.kind;
  if (kind == ThroughputSource::Kind::kSteps || kind == ThroughputSource::Kind::kRate) {
    for (platform::ChildOutput* output : {&options.out, &options.err}) {
      output->seen = [this, before = output->seen](std::string_view piece) {
        throughput_->Feed(piece, world_->Now());
        if (before) before(piece);
      };
    }
  }
  started_ = world.Now();
  auto started = world.Start(options);
  RETURN_IF_ERROR(started);
  process_ = std::move(*started);
  return {};
}

void WatchJob::AddNote(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) {
    notes_.push_back(std::move(note));
  }
}

bool WatchJob::Finished() {
  const auto end = process_->Ended();
  if (!end) return false;
  if (!stopped_) exit_code_ = end->code;
  if (end->code != 0 || process_->Pids().empty()) return true;
  if (!stopped_) AddNote("the command ended, and what it had started ran on and was watched");
  return false;
}

void WatchJob::LookDeeper(const ProfileSeries& series, const WatchOptions& options) {
  const auto pids = process_->Pids();
  const auto resident = Now(series, collect::kJobResidentBytes, "", spec_.name, started_);
  const auto proportional = platform::ProportionalMemory(pids);
  if (resident && *resident > 0 && proportional) {
    unshared_ = std::min(1.0, proportional->value / *resident);
  }
  if (!options.job_facts || pids.empty()) return;
  Facts found = options.job_facts(pids);
  if (found.size() >= facts_.size()) facts_ = std::move(found);
}

void WatchJob::Stop(Seconds grace) {
  if (process_ == nullptr) return;
  Finished();
  stopped_ = true;
  if (process_->Stop(grace).killed && grace > Seconds(0)) {
    AddNote(fmt::format("it ignored SIGTERM for {:g} s and was killed", grace.value));
  }
  process_->Drain();
}

std::vector<std::string> WatchJob::Gpus(const ProfileSeries& series) const {
  return spec_.gpus.empty() ? GpusOf(series, spec_.name) : spec_.gpus;
}

void WatchJob::Tick(const ProfileSeries& series, std::span<const Seconds> ticks, Seconds wall) {
  const Seconds now = ticks.back(), before = ticks[ticks.size() - 2];
  throughput_->Poll(now, wall);
  auto cores = Now(series, collect::kJobCpuSeconds, "", spec_.name, now);
  if (!cores) cores = Now(series, collect::kJobCores, "", spec_.name, now);
  Extend(cpu_, cores);
  const auto gpus = Gpus(series);
  has_gpu_ = !gpus.empty();
  Extend(busy_, OverInstances(series, collect::kGpuBusy, gpus, "", before));
  const auto first = throughput_->First();
  if (!first) return;
  while (steps_.empty() && ticks[first_step_] < *first) {
    if (++first_step_ == ticks.size()) return;
  }
  // Steps are known up to the last arrival: the ticks before it, one after the other.
  for (std::size_t i = first_step_ + steps_.size(); i + 1 < ticks.size(); ++i) {
    const auto rate = throughput_->Smooth(ticks[i], ticks[i + 1]);
    if (!rate) break;
    steps_.push_back(*rate);
    step_ticks_.push_back(ticks[i + 1]);
  }
}

bool WatchJob::EnoughArrivals(Span window) const {
  return !throughput_->Expected() ||
         throughput_->Arrivals(window.from, window.to) >= kLeastArrivals;
}

Signal WatchJob::Primary(const WatchOptions& options) const {
  Signal signal;
  signal.rules.interval = options.interval;
  if (throughput_->Expected()) {
    signal.first = first_step_;
    signal.values = steps_;
    signal.rules.least = kLeastSteps;
    // The rate of the last interval is known when the next step comes, and the window has that
    // interval, too: to judge by as many as were asked for would be to look for one more.
    if (options.until == Until::kFor) {
      signal.rules.least = std::min(signal.rules.least, options.window - options.interval);
    }
  } else {
    signal.values = has_gpu_ ? busy_ : cpu_;
    signal.rules.floor = has_gpu_ ? kBusyFloor : kCoresFloor;
    // Also when a shorter window is asked for: a framework takes ten seconds to load.
    signal.rules.least = kLeastBlind;
  }
  return signal;
}

WatchJobLine WatchJob::Line(const ProfileSeries& series, std::span<const Seconds> ticks) const {
  constexpr std::size_t kRateTicks = 5;
  const Seconds now = ticks.back();
  const Seconds since = ticks[ticks.size() < 2 ? 0 : ticks.size() - 2];
  const auto gpus = Gpus(series);
  WatchJobLine line;
  line.name = spec_.name;
  line.steps_per_second =
      throughput_->Rate(ticks[ticks.size() - std::min(ticks.size(), kRateTicks + 1)], now);
  if (!cpu_.empty()) line.cpu_cores = cpu_.back();
  line.host_memory =
      In<core::Bytes>(Now(series, collect::kJobResidentBytes, "", spec_.name, since));
  line.busy = OverInstances(series, collect::kGpuBusy, gpus, "", since);
  line.sm = OverInstances(series, collect::kGpuSm, gpus, "", since);
  auto memory = OverInstances(series, collect::kJobGpuMemory, gpus, spec_.name, since);
  if (!memory) memory = OverInstances(series, collect::kGpuMemoryUsed, gpus, "", since);
  line.gpu_memory = In<core::Bytes>(memory);
  return line;
}

// Others on its GPUs: the GPU's figures are then not its own.
bool WatchJob::HadItsGpusAlone(const ProfileSeries& series, const Outcome& outcome,
                               std::vector<std::string>& notes) const {
  bool alone = outcome.only;
  for (const std::string& gpu : Gpus(series)) {
    const auto in_window = series.Jobs(collect::kJobGpuMemory, gpu, outcome.window);
    const auto before = series.Jobs(collect::kJobGpuMemory, gpu, {Seconds(-INFINITY), started_});
    const bool seen = std::find(in_window.begin(), in_window.end(), spec_.name) != in_window.end();
    for (const std::string& other : in_window) {
      // In a container its own processes may go by numbers that mean nothing to us.
      const bool was_there = std::find(before.begin(), before.end(), other) != before.end();
      if (other == spec_.name || (!seen && !was_there)) continue;
      alone = false;
      if (outcome.only) {
        notes.push_back(
            fmt::format("GPU {} was shared with {}, so its figures are of both", gpu, other));
      }
    }
  }
  return alone;
}

core::Figure WatchJob::StepsFigure(Span window) const {
  core::Figure figure{.metric = "steps_per_second", .instance = {}, .unit = "1/s"};
  std::vector<double> rates;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (step_ticks_[i] > window.from && step_ticks_[i] <= window.to) rates.push_back(steps_[i]);
  }
  figure.readings = static_cast<std::int64_t>(rates.size());
  if (rates.empty()) return figure;
  figure.mean = *core::Mean(rates);
  figure.least = *std::min_element(rates.begin(), rates.end());
  figure.most = *std::max_element(rates.begin(), rates.end());
  figure.median = *core::Quantile(rates, 0.5);
  figure.p95 = *core::Quantile(rates, 0.95);
  double squares = 0;
  for (const double rate : rates) squares += (rate - figure.mean) * (rate - figure.mean);
  if (rates.size() > 1)
    figure.deviation = std::sqrt(squares / static_cast<double>(rates.size() - 1));
  return figure;
}

core::ProfileRecord WatchJob::Record(const ProfileSeries& series, const Outcome& outcome,
                                     const WatchOptions& options) const {
  core::ProfileRecord record;
  record.name = spec_.name;
  record.created = outcome.created.value_or(0);
  record.source = options.source;
  record.command = spec_.command;
  record.environment = options.environment;
  record.environment.insert(record.environment.end(), facts_.begin(), facts_.end());
  if (spec_.cpus) record.environment.emplace_back("cpus", platform::FormatCpus(*spec_.cpus));
  if (spec_.cpu_time) {
    record.environment.emplace_back("cpu time limit", fmt::format("{:g}", *spec_.cpu_time));
  }
  if (spec_.memory) {
    record.environment.emplace_back("memory limit", fmt::format("{:.0f}", spec_.memory->value));
  }
  record.notes = notes_;
  const JobView view{.series = &series,
                     .job = spec_.name,
                     .gpus = Gpus(series),
                     .alone = HadItsGpusAlone(series, outcome, record.notes),
                     .cpus = spec_.cpus ? spec_.cpus->size() : platform::AllowedCpus().size(),
                     .unshared = unshared_,
                     .window = outcome.window,
                     .life = outcome.life};
  record.profile = MeasuredProfile(view);
  record.profile.workload = spec_.workload;
  if (record.profile.workload.name.empty()) record.profile.workload.name = spec_.name;
  // By the catalogue's name where it has one: "NVIDIA H200" is an alias.
  const auto model = catalogue::GpuCatalogue::Builtin().Find(spec_.gpu);
  record.profile.gpu = model ? model->name : spec_.gpu;
  record.profile.steps_per_second = throughput_->Rate(outcome.window.from, outcome.window.to);
  record.throughput_source = throughput_->Source();
  record.figures = series.Figures(spec_.name, outcome.window);
  if (record.profile.steps_per_second) record.figures.push_back(StepsFigure(outcome.window));
  std::sort(record.figures.begin(), record.figures.end(), [](const auto& a, const auto& b) {
    return std::tie(a.metric, a.instance) < std::tie(b.metric, b.instance);
  });
  record.warmup = outcome.window.from - outcome.start;
  record.window = outcome.window.length();
  record.settled = outcome.settling.settled;
  record.uncertainty = outcome.settling.uncertainty;
  record.exit_code = exit_code_;
  record.bound_by = BoundBy(view, record.profile);
  for (std::string& note : Vanished(view)) record.notes.push_back(std::move(note));
  if (std::string note = throughput_->Note(); !note.empty()) record.notes.push_back(note);
  return record;
}

}  // namespace sharewell::measure
