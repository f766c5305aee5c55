#include "engine/kubernetes/kube_runner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "core/result.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kKubeGather(0.01);  // commands that come together are carried out together
constexpr Seconds kLookAtMost(5);

std::int64_t KubeSteadyNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::chrono::steady_clock::time_point KubeAfter(Seconds time) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                                std::clamp(time.value, 0.0, 1e6) * 1e9));
}

ReflectorOptions ReflectorOf(const char* name, const char* path) {
  ReflectorOptions options;
  options.name = name;
  options.path = path;
  return options;
}

KubeControlOptions WithAsk(KubeControlOptions options, KubeDriver& driver, Seconds limit) {
  options.ask = [&driver, limit](std::span<const KubeRequest> requests) {
    return driver.AskAll(requests, limit);
  };
  return options;
}

}  // namespace

// All pods are watched, also those of other schedulers: they take room on our nodes.
KubeRunner::KubeRunner(KubeDriver& driver, KubeRunnerOptions options)
    : driver_(driver),
      options_(std::move(options)),
      began_(KubeSteadyNs()),
      pods_(driver, ReflectorOf("pods", "/api/v1/pods")),
      all_nodes_(driver, ReflectorOf("nodes", "/api/v1/nodes")),
      volume_claims_(driver,
                     ReflectorOf("persistentvolumeclaims", "/api/v1/persistentvolumeclaims")),
      volumes_(driver, ReflectorOf("persistentvolumes", "/api/v1/persistentvolumes")),
      control_(WithAsk(options_.control, driver, options_.write_within)) {}

core::Result<std::unique_ptr<KubeRunner>> KubeRunner::Open(KubeDriver& driver,
                                                           KubeRunnerOptions options) {
  std::unique_ptr<KubeRunner> runner(new KubeRunner(driver, std::move(options)));
  const Seconds until = runner->Now() + runner->options_.open_within;
  for (;;) {
    auto looked = runner->Look();
    if (looked && runner->pods_.IsCurrent() && runner->all_nodes_.IsCurrent()) break;
    // What a next try will not mend: no right, no such server.
    if (!looked && looked.error().kind == core::ErrorKind::kUsage) {
      return tl::unexpected(std::move(looked.error()));
    }
    if (runner->Now() >= until) {
      if (!looked) return tl::unexpected(std::move(looked.error()));
      return core::FailedError("the API server did not list its pods and nodes within {:g} s",
                               runner->options_.open_within.value);
    }
    driver.WaitForLines(Seconds(0.2));
  }
  runner->nodes_ = runner->control_.Open(runner->Now());
  runner->models_ = runner->control_.Models();
  runner->remarks_ = runner->control_.remarks();
  return runner;
}

KubeRunner::~KubeRunner() {
  {
    const platform::MutexLock lock(mutex_);
    ends_ = true;
  }
  driver_.Wake();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Seconds KubeRunner::Now() {
  return options_.origin + Seconds(static_cast<double>(KubeSteadyNs() - began_) / 1e9);
}

void KubeRunner::Do(Command command) {
  {
    const platform::MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  driver_.Wake();
}

bool KubeRunner::CarryOut() {
  std::vector<Command> commands;
  {
    const platform::MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (const Command& command : commands) command(control_);
  return !commands.empty();
}

core::Result<void> KubeRunner::Look() {
  std::vector<KubeChange> changes;
  // Volumes before pods, so that a pod that comes with its claim finds it. Without the right to
  // read them, pods that use some wait.
  (void)volumes_.Look(Now(), changes);
  control_.TakeVolumes(changes);
  changes.clear();
  (void)volume_claims_.Look(Now(), changes);
  control_.TakeVolumeClaims(changes);
  changes.clear();
  auto nodes = all_nodes_.Look(Now(), changes);
  control_.TakeNodes(changes);
  changes.clear();
  auto pods = pods_.Look(Now(), changes);
  control_.TakePods(changes);
  control_.SetCurrent(pods_.IsCurrent() && all_nodes_.IsCurrent());
  if (!nodes) return nodes;
  return pods;
}

void KubeRunner::Work() {
  std::string problem;
  for (;;) {
    const bool commanded = CarryOut();
    const auto looked = Look();
    if (!looked) problem = looked.error().message;
    if (pods_.IsCurrent() && all_nodes_.IsCurrent()) problem.clear();
    control_.SetProblem(problem);
    if (options_.leads) control_.SetLeads(options_.leads(Now()));
    std::vector<RunEvent> events;
    Seconds due = control_.Cycle(Now(), events);
    {
      const platform::MutexLock lock(mutex_);
      if (ends_) return;
      problem_ = control_.problem();
      std::move(events.begin(), events.end(), std::back_inserter(events_));
      if (!commands_.empty()) due = Now();
    }
    changed_.notify_all();
    for (const Reflector* one : {&pods_, &all_nodes_, &volume_claims_, &volumes_}) {
      due = std::min(due, one->NextLook());
    }
    const Seconds pause =
        std::clamp(due - Now(), commanded ? kKubeGather : Seconds(0.001), kLookAtMost);
    driver_.WaitForLines(pause);
  }
}

std::vector<RunRequest> KubeRunner::Recover() {
  auto found = control_.Recover();
  thread_ = std::thread([this] { Work(); });
  return found;
}

void KubeRunner::Start(const RunRequest& request) {
  Do([request](KubeControl& control) { control.Start(request); });
}

void KubeRunner::Stop(RunId id, Seconds) {
  Do([id](KubeControl& control) { control.Stop(id); });
}

void KubeRunner::Cancel(RunId id, Seconds) {
  Do([id](KubeControl& control) { control.Cancel(id); });
}

void KubeRunner::SetCores(RunId id, double) {
  RunEvent note;
  note.kind = RunEvent::Kind::kNote;
  note.id = id;
  note.message = "Kubernetes cannot change the CPUs of a pod that runs; they stay as it asked";
  {
    const platform::MutexLock lock(mutex_);
    events_.push_back(std::move(note));
  }
  changed_.notify_all();
}

void KubeRunner::SetShare(RunId, core::Ratio) {}

std::string KubeRunner::WhyNoPause() {
  return "pods are not paused: their GPU memory would stay taken";
}

void KubeRunner::List(std::uint64_t token) {
  Do([token](KubeControl& control) { control.List(token); });
}

void KubeRunner::Forget(RunId id) {
  Do([id](KubeControl& control) { control.Forget(id); });
}

void KubeRunner::Expect(std::int64_t job) {
  Do([job](KubeControl& control) { control.Expect(job); });
}

void KubeRunner::CancelWaiting(std::int64_t job) {
  Do([job](KubeControl& control) { control.CancelWaiting(job); });
}

void KubeRunner::TellWaits(std::int64_t job, const std::string& words) {
  Do([job, words](KubeControl& control) { control.Tell(job, words); });
}

std::string KubeRunner::Problem() {
  const platform::MutexLock lock(mutex_);
  return problem_;
}

bool KubeRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  platform::MutexLock lock(mutex_);
  const auto deadline =
      until ? KubeAfter(*until - Now()) : std::chrono::steady_clock::time_point::max();
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

void KubeRunner::Wake() {
  {
    const platform::MutexLock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

}  // namespace sharewell::engine
