#include "engine/slurm/control/slurm_runner.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/result.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kAnswersComeWithin(0.25);
constexpr Seconds kSlurmGather(0.02);  // commands that come together are carried out together

SlurmControlOptions With(SlurmControlOptions options, std::function<bool()> meanwhile,
                         std::function<std::map<std::int64_t, std::string>()> reasons) {
  options.meanwhile = std::move(meanwhile);
  options.reasons = std::move(reasons);
  return options;
}

}  // namespace

SlurmRunner::SlurmRunner(SlurmClient& client, SlurmRunnerOptions options)
    : ClusterRunner(options.origin),
      options_(std::move(options)),
      control_(client, With(
                           options_.control, [this] { return CarryOut(control_); },
                           [this] { return TakeReasons(); })) {}

core::Result<std::unique_ptr<SlurmRunner>> SlurmRunner::Open(SlurmClient& client,
                                                             SlurmRunnerOptions options) {
  std::unique_ptr<SlurmRunner> runner(new SlurmRunner(client, std::move(options)));
  RETURN_IF_ERROR(runner->control_.Open());
  const SlurmControl& control = runner->control_;
  runner->SetOpened({control.Nodes(), control.Models(), control.remarks()});
  return runner;
}

SlurmRunner::~SlurmRunner() {
  EndWork();
  control_.Leave();
}

void SlurmRunner::Work() {
  Seconds due(0);
  while (WaitForCommands(due, kSlurmGather)) {
    const bool commanded = CarryOut(control_);
    std::vector<RunEvent> events;
    if (commanded) due = std::min(due, control_.DoNow(Now(), events));
    if (const Seconds began = Now(); began >= due) {
      due = control_.Cycle(began, events);
      // What follows from what was seen is carried out before the next look, not after it. A wave
      // goes on at once.
      if (!events.empty() && due > began) due = std::max(due, Now() + kAnswersComeWithin);
    }
    EmitAll(std::move(events), control_.problem());
  }
}

std::vector<RunRequest> SlurmRunner::Recover() {
  bool said = false;
  for (;;) {
    auto found = control_.Recover();
    if (found) {
      BeginWork();
      return *std::move(found);
    }
    if (!std::exchange(said, true)) {
      options_.control.log("what runs in Slurm cannot be read: " + found.error().message +
                           "; it is tried again");
    }
    if (!Rest(Seconds(2))) return {};
  }
}

void SlurmRunner::ShowReason(std::int64_t job, const std::string& words) {
  const platform::MutexLock lock(reasons_mutex_);
  reasons_[job] = words;
}

std::map<std::int64_t, std::string> SlurmRunner::TakeReasons() {
  const platform::MutexLock lock(reasons_mutex_);
  return std::exchange(reasons_, {});
}

void SlurmRunner::Change(RunId id, const RunBounds& bounds) {
  if (bounds.cores) {
    Note(id, "Slurm cannot change the cores of a job that runs; they stay as they were given");
  }
  if (!bounds.time_limit) return;
  Do([this, id, limit = *bounds.time_limit](ClusterControl&) { control_.SetTimeLimit(id, limit); });
}

}  // namespace sharewell::engine
