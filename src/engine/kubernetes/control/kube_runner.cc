#include "engine/kubernetes/control/kube_runner.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "core/result.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kKubeGather(0.01);  // commands that come together are carried out together
constexpr Seconds kLookAtMost(5);
constexpr auto kPodsWithin = std::chrono::seconds(3);  // whoever wants a log waits

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
    : ClusterRunner(options.origin, options.list_every),
      driver_(driver),
      options_(std::move(options)),
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
  auto nodes = runner->control_.Open(runner->Now());
  runner->SetOpened({std::move(nodes), runner->control_.Models(), runner->control_.remarks()});
  return runner;
}

KubeRunner::~KubeRunner() { EndWork(); }

core::Result<void> KubeRunner::Look() {
  std::vector<KubeChange> changes;
  // Volumes before pods, so that a pod that comes with its claim finds it. Without the right to
  // read them, pods that use some wait.
  (void)volumes_.Look(Now(), changes);
  control_.volumes().Handle(changes);
  changes.clear();
  (void)volume_claims_.Look(Now(), changes);
  control_.volumes().HandleClaims(changes);
  changes.clear();
  auto nodes = all_nodes_.Look(Now(), changes);
  control_.HandleNodes(changes);
  changes.clear();
  auto pods = pods_.Look(Now(), changes);
  control_.HandlePods(changes);
  control_.SetCurrent(pods_.IsCurrent() && all_nodes_.IsCurrent());
  if (!nodes) return nodes;
  return pods;
}

void KubeRunner::Work() {
  std::string problem;
  for (;;) {
    const bool commanded = CarryOut(control_);
    const auto looked = Look();
    if (!looked) problem = looked.error().message;
    if (pods_.IsCurrent() && all_nodes_.IsCurrent()) problem.clear();
    control_.SetProblem(problem);
    if (options_.leads) control_.SetLeads(options_.leads(Now()));
    std::vector<RunEvent> events;
    Seconds due = control_.Cycle(Now(), events);
    EmitAll(std::move(events), control_.problem());
    if (Ends()) return;
    if (HasCommands()) due = Now();
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
  BeginWork();
  return found;
}

void KubeRunner::Change(RunId id, const RunBounds& bounds) {
  if (!bounds.cores) return;
  Note(id, "Kubernetes cannot change the CPUs of a pod that runs; they stay as it asked");
}

void KubeRunner::ShowStarts(const std::map<std::int64_t, core::UnixMillis>& starts) {
  Do([this, starts](ClusterControl&) { control_.notices().PutStarts(starts); });
}

void KubeRunner::ShowLeaving(std::int64_t job, int evicted, const std::string& words) {
  Do([this, job, evicted, words](ClusterControl&) {
    control_.notices().PutLeaving(job, evicted, words);
  });
}

core::Result<std::vector<KubeLogPod>> KubeRunner::LogPods(std::int64_t job,
                                                          const std::string& name_space) {
  const auto found = std::make_shared<std::promise<std::vector<KubeLogPod>>>();
  auto soon = found->get_future();
  Do([this, job, name_space, found](ClusterControl&) {
    found->set_value(control_.notices().LogPods(job, name_space));
  });
  if (soon.wait_for(kPodsWithin) == std::future_status::ready) return soon.get();
  return core::FailedError(
      "the server waits for an answer of Kubernetes to something else; try again in a moment");
}

void KubeRunner::ShowReason(std::int64_t job, const std::string& words) {
  Do([this, job, words](ClusterControl&) { control_.notices().Put(job, words); });
}

}  // namespace sharewell::engine
