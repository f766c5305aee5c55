#include "engine/slurm/slurm_runner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "core/result.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kAnswersComeWithin(0.25);
constexpr Seconds kSlurmGather(0.02);  // commands that come together are carried out together

std::int64_t SteadyNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

SlurmControlOptions WithMeanwhile(SlurmControlOptions options, std::function<bool()> meanwhile) {
  options.meanwhile = std::move(meanwhile);
  return options;
}

std::chrono::steady_clock::time_point After(Seconds time) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                                std::clamp(time.value, 0.0, 1e6) * 1e9));
}

}  // namespace

SlurmRunner::SlurmRunner(SlurmClient& client, SlurmRunnerOptions options)
    : options_(std::move(options)),
      began_(SteadyNs()),
      control_(client, WithMeanwhile(options_.control, [this] { return CarryOut(); })) {}

core::Result<std::unique_ptr<SlurmRunner>> SlurmRunner::Open(SlurmClient& client,
                                                             SlurmRunnerOptions options) {
  std::unique_ptr<SlurmRunner> runner(new SlurmRunner(client, std::move(options)));
  RETURN_IF_ERROR(runner->control_.Open());
  runner->nodes_ = runner->control_.Nodes();
  runner->models_ = runner->control_.Models();
  runner->remarks_ = runner->control_.remarks();
  return runner;
}

SlurmRunner::~SlurmRunner() {
  {
    const platform::MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  control_.Leave();
}

Seconds SlurmRunner::Now() {
  return options_.origin + Seconds(static_cast<double>(SteadyNs() - began_) / 1e9);
}

void SlurmRunner::Do(Command command) {
  {
    const platform::MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_all();
}

// Commands that came, in their order.
bool SlurmRunner::CarryOut() {
  std::vector<Command> commands;
  {
    const platform::MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (const Command& command : commands) command(control_);
  return !commands.empty();
}

// Until a look is due, or commands came. False: it ends.
bool SlurmRunner::WaitUntil(Seconds due) {
  platform::MutexLock lock(mutex_);
  const auto until = After(due - Now());
  while (!ends_ && commands_.empty()) {
    if (changed_.wait_until(lock, until) == std::cv_status::timeout) break;
  }
  if (!commands_.empty() && !ends_) {
    const auto gathered = After(kSlurmGather);
    while (!ends_ && changed_.wait_until(lock, gathered) != std::cv_status::timeout) {
    }
  }
  return !ends_;
}

void SlurmRunner::Work() {
  Seconds due(0);
  while (WaitUntil(due)) {
    const bool commanded = CarryOut();
    std::vector<RunEvent> events;
    if (commanded) due = std::min(due, control_.DoNow(Now(), events));
    if (const Seconds began = Now(); began >= due) {
      due = control_.Cycle(began, events);
      // What follows from what was seen is carried out before the next look, not after it. A wave
      // goes on at once.
      if (!events.empty() && due > began) due = std::max(due, Now() + kAnswersComeWithin);
    }
    {
      const platform::MutexLock lock(mutex_);
      problem_ = control_.problem();
      std::move(events.begin(), events.end(), std::back_inserter(events_));
    }
    changed_.notify_all();
  }
}

std::vector<RunRequest> SlurmRunner::Recover() {
  bool said = false;
  for (;;) {
    auto found = control_.Recover();
    if (found) {
      thread_ = std::thread([this] { Work(); });
      return *std::move(found);
    }
    if (!std::exchange(said, true)) {
      options_.control.say("what runs in Slurm cannot be read: " + found.error().message +
                           "; it is tried again");
    }
    platform::MutexLock lock(mutex_);
    const auto until = After(Seconds(2));
    while (!ends_ && changed_.wait_until(lock, until) != std::cv_status::timeout) {
    }
    if (ends_) return {};
  }
}

void SlurmRunner::Start(const RunRequest& request) {
  Do([request](SlurmControl& control) { control.Start(request); });
}

void SlurmRunner::Stop(RunId id, Seconds) {
  Do([id](SlurmControl& control) { control.Stop(id); });
}

void SlurmRunner::Cancel(RunId id, Seconds) {
  Do([id](SlurmControl& control) { control.Cancel(id); });
}

void SlurmRunner::SetCores(RunId id, double) {
  RunEvent note;
  note.kind = RunEvent::Kind::kNote;
  note.id = id;
  note.message = "Slurm cannot change the cores of a job that runs; they stay as they were given";
  {
    const platform::MutexLock lock(mutex_);
    events_.push_back(std::move(note));
  }
  changed_.notify_all();
}

void SlurmRunner::SetShare(RunId, core::Ratio) {}

void SlurmRunner::SetTimeLimit(RunId id, Seconds limit) {
  Do([id, limit](SlurmControl& control) { control.SetTimeLimit(id, limit); });
}

std::string SlurmRunner::WhyNoPause() {
  return "jobs of Slurm are not paused: their GPU memory would stay taken";
}

void SlurmRunner::List(std::uint64_t token) {
  Do([token](SlurmControl& control) { control.List(token); });
}

void SlurmRunner::Forget(RunId id) {
  Do([id](SlurmControl& control) { control.Forget(id); });
}

void SlurmRunner::Expect(std::int64_t job) {
  Do([job](SlurmControl& control) { control.Expect(job); });
}

void SlurmRunner::CancelWaiting(std::int64_t job) {
  Do([job](SlurmControl& control) { control.CancelWaiting(job); });
}

std::string SlurmRunner::Problem() {
  const platform::MutexLock lock(mutex_);
  return problem_;
}

bool SlurmRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  platform::MutexLock lock(mutex_);
  const auto deadline =
      until ? After(*until - Now()) : std::chrono::steady_clock::time_point::max();
  while (events_.empty() && !woken_ && !ends_) {
    if (!until) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      break;
    }
  }
  woken_ = false;
  std::move(events_.begin(), events_.end(), std::back_inserter(out));
  events_.clear();
  return true;
}

void SlurmRunner::Wake() {
  {
    const platform::MutexLock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

}  // namespace sharewell::engine
