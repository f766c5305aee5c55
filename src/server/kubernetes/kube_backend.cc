// Pods of a Kubernetes cluster are bound here: who we are there, which replica leads, and the
// runner of its pods.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/api/kube_access.h"
#include "engine/kubernetes/api/kube_http.h"
#include "engine/kubernetes/api/kube_lease.h"
#include "engine/kubernetes/api/kube_logs.h"
#include "engine/kubernetes/control/kube_runner.h"
#include "platform/clock/wall_clock.h"
#include "server/cluster_backend.h"
#include "server/cluster_predictions.h"
#include "server/kubernetes/kube_needs.h"
#include "server/live/start_teller.h"
#include "server/settings/daemon.h"
#include "store/open_database.h"

namespace sharewell::server {

using core::Result;

namespace {

constexpr std::int64_t kNumbersAtOnce = 20;

core::Seconds SteadyNow() {
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  return core::Seconds(std::chrono::duration<double>(steady).count());
}

class KubeBackend final : public Backend {
 public:
  using Backend::Backend;
  ~KubeBackend() override {
    runner_.reset();
    if (lease_) (void)lease_->Release();  // another replica may lead at once
  }

  // Where there are replicas, it waits until this one leads. REQUIRES: signals are held, as
  // WaitForSignal has it.
  Result<void> Open(const BackendNeeds& needs) override;
  void Watch(JobWatchOptions) override {}  // agents on the nodes do
  void TellStarts(const StartTeller::Find& find) override {
    start_teller_ = std::make_unique<StartTeller>(*runner_, find);
  }
  void Stop() override {
    start_teller_.reset();
    if (predictions_) predictions_->Stop();
  }

 private:
  engine::KubeControlOptions ControlOptions();
  Result<void> WaitForLease(engine::KubeRunnerOptions& run);
  void ServeLogs();
  void Greet();

  std::unique_ptr<ClusterMonitor> monitor_;
  std::unique_ptr<ClusterAgents> agents_;  // null: nobody said that there are any
  std::unique_ptr<engine::KubeHttp> http_;
  // Of its own: reading a log keeps no pod waiting.
  std::unique_ptr<engine::KubeHttp> log_http_;
  std::unique_ptr<engine::KubeLogs> logs_;
  std::unique_ptr<engine::KubeLease> lease_;  // null: there is but this server
  std::unique_ptr<ClusterPredictions> predictions_;
  std::unique_ptr<engine::KubeRunner> runner_;
  std::unique_ptr<StartTeller> start_teller_;
};

// Each replica is known by its machine and its process. One that does not lead waits here, and
// reads all that there is when its time comes; one that led and does not any more ends, and is
// started again as one that waits.
Result<void> KubeBackend::WaitForLease(engine::KubeRunnerOptions& run) {
  if (options_.kubernetes->lease_namespace.empty()) return {};
  engine::KubeLeaseOptions with;
  with.name_space = options_.kubernetes->lease_namespace;
  with.name = options_.kubernetes->scheduler;
  with.identity = fmt::format("{}_{}_{}", options_.node, ::getpid(), platform::UnixNow());
  lease_ = std::make_unique<engine::KubeLease>(*http_, with, SteadyNow, [] {
    return core::Seconds(static_cast<double>(platform::UnixNow()) / 1e3);
  });
  std::string said;
  while (!lease_->IsLeader(SteadyNow())) {
    const auto stepped = lease_->Step();
    if (!stepped && stepped.error().kind == core::ErrorKind::kUsage) return stepped;
    if (lease_->IsLeader(SteadyNow())) break;
    const std::string words =
        !stepped ? stepped.error().message
                 : fmt::format("{} leads; this replica waits", core::Quoted(lease_->holder()));
    if (std::exchange(said, words) != words) options_.log(words);
    const core::Seconds pause = std::max(lease_->NextStep() - SteadyNow(), core::Seconds(0.1));
    if (WaitForSignal(pause)) return core::FailedError("ended while another replica led");
  }
  options_.log("this replica leads");
  // Behind all numbers that another replica may have given out.
  const std::int64_t first = std::max(run.control.first_number, lease_->numbers() + 1);
  run.control.first_number = first;
  run.control.may_number = [this, first](std::int64_t last) {
    // Ever more at a time, so that a crowd of pods needs few writes.
    if (last > lease_->numbers()) {
      (void)lease_->Reserve(last + std::max(kNumbersAtOnce, last - first));  // else asked again
    }
    return last <= lease_->numbers();
  };
  run.leads = [this, identity = with.identity, over = false](core::Seconds) mutable {
    if (SteadyNow() >= lease_->NextStep()) (void)lease_->Step();  // again soon
    if (lease_->IsLeader(SteadyNow())) return true;
    if (!lease_->holder().empty() && lease_->holder() != identity && !std::exchange(over, true)) {
      options_.log(
          fmt::format("{} leads now: this replica ends, and waits when it is started again",
                      core::Quoted(lease_->holder())));
      ::kill(::getpid(), SIGTERM);
    }
    return false;
  };
  return {};
}

engine::KubeControlOptions KubeBackend::ControlOptions() {
  engine::KubeControlOptions control;
  control.model = ModelsOf(catalogue_);
  control.wall = [] { return platform::UnixNow(); };
  control.log = options_.log;
  monitor_ = NewClusterMonitor(options_);
  control.steps = [this](const std::map<std::int64_t, engine::WatchedRun>& running) {
    return monitor_->Steps(running);
  };
  // Where somebody said that there are agents, their silence tells something.
  if (!options_.agents_store.empty()) {
    agents_ = NewClusterAgents(options_);
    control.watched = [this](const std::string& node) { return agents_->On(node); };
  }
  control.scheduler = options_.kubernetes->scheduler;
  control.name_space = options_.kubernetes->name_space;
  // The cluster is there before the first pod is read.
  control.predict = [this, models_folder = options_.state + "/models"](
                        const std::string& name_space, const engine::PodWords& words,
                        const core::Submission& asked) {
    const auto& models = runner_->opened().models;
    return KubeNeedsOf(*predictions_, models_folder, name_space, words, asked,
                       models.empty() ? "H200" : models.front());
  };
  return control;
}

Result<void> KubeBackend::Open(const BackendNeeds& needs) {
  const auto origin = OriginOf(needs.jobs);
  RETURN_IF_ERROR(origin);
  const auto last_number = needs.jobs.LastNumber();
  RETURN_IF_ERROR(last_number);
  engine::KubeRunnerOptions run;
  run.origin = *origin;
  run.control = ControlOptions();
  run.control.first_number = *last_number + 1;
  auto access = engine::FindKubeAccess(
      {.kubeconfig = options_.kubernetes->kubeconfig, .context = options_.kubernetes->context});
  RETURN_IF_ERROR(access);
  auto log_http = engine::NewKubeHttp(*access);
  RETURN_IF_ERROR(log_http);
  log_http_ = std::move(*log_http);
  auto http = engine::NewKubeHttp(std::move(*access));
  RETURN_IF_ERROR(http);
  http_ = std::move(*http);
  predictions_ = std::make_unique<ClusterPredictions>(catalogue_, needs.learner);
  RETURN_IF_ERROR(WaitForLease(run));
  auto opened = engine::KubeRunner::Open(*http_, std::move(run));
  RETURN_IF_ERROR(opened);
  runner_ = std::move(*opened);
  RETURN_IF_ERROR(ShowCluster(*runner_, *monitor_, catalogue_, face_));
  face_.no_submissions = fmt::format(
      "this server binds the pods of a Kubernetes cluster: make a pod with schedulerName {}",
      options_.kubernetes->scheduler);
  ServeLogs();
  Greet();
  face_.serves = "a Kubernetes cluster";
  return {};
}

void KubeBackend::ServeLogs() {
  logs_ = std::make_unique<engine::KubeLogs>(*log_http_, SteadyNow);
  face_.remote_log = [this](const core::JobRecord& job, bool errors, std::int64_t offset,
                            std::size_t most) -> Result<api::LogPart> {
    if (errors) return api::LogPart{.bytes = {}, .next = 0, .all = true};  // it is in the other
    auto part = logs_->Read(job.number, core::IsOver(job.phase), offset, most,
                            [&] { return runner_->LogPods(job.number, job.user.name); });
    RETURN_IF_ERROR(part);
    return api::LogPart{std::move(part->bytes), part->next, part->all};
  };
}

void KubeBackend::Greet() {
  face_.greeting.push_back(
      fmt::format("Kubernetes, pods with schedulerName {}{}: {}", options_.kubernetes->scheduler,
                  options_.kubernetes->name_space.empty()
                      ? ""
                      : ", namespace " + core::Quoted(options_.kubernetes->name_space),
                  NodesThatAreUp(face_.machine.cluster)));
  if (runner_->opened().nodes.empty()) {
    face_.greeting.push_back(
        "no node has GPUs that can be used yet: pods wait until one has; say which ones it has in "
        "its annotation: kubectl annotate node NAME sharewell.io/gpus='H200 GPU-8f2a... "
        "GPU-77aa...'");
  }
  if (store::IsPostgres(options_.AgentsStore())) return;
  face_.greeting.push_back(
      "agents on other machines are not heard, as the store is a file: what pods do there is "
      "not seen, and they share GPUs by what is predicted of them; --agents-store "
      "postgresql://USER@HOST/DATABASE hears them");
}

}  // namespace

std::unique_ptr<Backend> NewKubeBackend(const ServerOptions& options,
                                        const catalogue::GpuCatalogue& catalogue) {
  return std::make_unique<KubeBackend>(options, catalogue);
}

}  // namespace sharewell::server
