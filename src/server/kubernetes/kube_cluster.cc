#include "server/kubernetes/kube_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "core/text/quoted.h"
#include "engine/kubernetes/api/kube_access.h"
#include "engine/kubernetes/api/kube_http.h"
#include "engine/kubernetes/api/kube_lease.h"
#include "platform/clock/wall_clock.h"
#include "server/cluster_machine.h"
#include "server/kubernetes/kube_needs.h"
#include "server/settings/daemon.h"

namespace sharewell::server {

using core::Result;

struct KubeCluster::Parts {
  KubeClusterOptions options;
  const catalogue::GpuCatalogue& catalogue;
  std::unique_ptr<engine::KubeHttp> http;
  std::unique_ptr<engine::KubeLease> lease;  // absent: there is but this server
  std::unique_ptr<ClusterPredictions> predictions;
  std::unique_ptr<engine::KubeRunner> runner;

  ~Parts() {
    runner.reset();
    if (lease) (void)lease->Release();
  }
  Result<void> WaitForLease(engine::KubeRunnerOptions& run);
  engine::KubeRunnerOptions RunnerOptions();
};

namespace {

constexpr std::int64_t kNumbersAtOnce = 20;

core::Seconds SteadyNow() {
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  return core::Seconds(std::chrono::duration<double>(steady).count());
}

}  // namespace

// Each replica is known by its machine and its process. One that does not lead waits here, and
// reads all that there is when its time comes; one that led and does not any more ends, and is
// started again as one that waits.
Result<void> KubeCluster::Parts::WaitForLease(engine::KubeRunnerOptions& run) {
  if (options.kubernetes.lease_namespace.empty()) return {};
  engine::KubeLeaseOptions with;
  with.name_space = options.kubernetes.lease_namespace;
  with.name = options.kubernetes.scheduler;
  with.identity = fmt::format("{}_{}_{}", options.node, ::getpid(), platform::UnixNow());
  lease = std::make_unique<engine::KubeLease>(*http, with, SteadyNow, [] {
    return core::Seconds(static_cast<double>(platform::UnixNow()) / 1e3);
  });
  std::string said;
  while (!lease->IsLeader(SteadyNow())) {
    const auto stepped = lease->Step();
    if (!stepped && stepped.error().kind == core::ErrorKind::kUsage) return stepped;
    if (lease->IsLeader(SteadyNow())) break;
    const std::string words =
        !stepped ? stepped.error().message
                 : fmt::format("{} leads; this replica waits", core::Quoted(lease->holder()));
    if (std::exchange(said, words) != words) options.say(words);
    const core::Seconds pause = std::max(lease->NextStep() - SteadyNow(), core::Seconds(0.1));
    if (WaitForSignal(pause)) return core::FailedError("ended while another replica led");
  }
  options.say("this replica leads");
  // Behind all numbers that another replica may have given out.
  const std::int64_t first = std::max(options.first_number, lease->numbers() + 1);
  run.control.first_number = first;
  run.control.may_number = [this, first](std::int64_t last) {
    // Ever more at a time, so that a crowd of pods needs few writes.
    if (last > lease->numbers()) {
      (void)lease->Reserve(last + std::max(kNumbersAtOnce, last - first));  // else asked again
    }
    return last <= lease->numbers();
  };
  run.leads = [this, identity = with.identity, over = false](core::Seconds) mutable {
    if (SteadyNow() >= lease->NextStep()) (void)lease->Step();  // again soon
    if (lease->IsLeader(SteadyNow())) return true;
    if (!lease->holder().empty() && lease->holder() != identity && !std::exchange(over, true)) {
      options.say(fmt::format("{} leads now: this replica ends, and waits when it is started again",
                              core::Quoted(lease->holder())));
      ::kill(::getpid(), SIGTERM);
    }
    return false;
  };
  return {};
}

engine::KubeRunnerOptions KubeCluster::Parts::RunnerOptions() {
  engine::KubeRunnerOptions run;
  run.origin = options.origin;
  run.control.model = ModelsOf(catalogue);
  run.control.wall = [] { return platform::UnixNow(); };
  run.control.say = options.say;
  run.control.steps = options.steps;
  run.control.watched = options.watched;
  run.control.scheduler = options.kubernetes.scheduler;
  run.control.space = options.kubernetes.name_space;
  run.control.first_number = options.first_number;
  // The cluster is there before the first pod is read.
  run.control.predict = [this](const std::string& space, const engine::PodWords& words,
                               const core::Submission& asked) {
    const auto& models = runner->opened().models;
    return KubeNeedsOf(*predictions, options.models, space, words, asked,
                       models.empty() ? "H200" : models.front());
  };
  return run;
}

KubeCluster::KubeCluster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KubeCluster::~KubeCluster() = default;

engine::KubeRunner& KubeCluster::runner() { return *parts_->runner; }
void KubeCluster::StopPredicting() { parts_->predictions->Stop(); }

Result<std::unique_ptr<KubeCluster>> KubeCluster::Open(KubeClusterOptions options,
                                                       const catalogue::GpuCatalogue& catalogue,
                                                       Learner& learner) {
  std::unique_ptr<Parts> parts(new Parts{std::move(options), catalogue, {}, {}, {}, {}});
  auto access = engine::FindKubeAccess({.kubeconfig = parts->options.kubernetes.kubeconfig,
                                        .context = parts->options.kubernetes.context});
  RETURN_IF_ERROR(access);
  auto http = engine::NewKubeHttp(std::move(*access));
  RETURN_IF_ERROR(http);
  parts->http = std::move(*http);
  parts->predictions = std::make_unique<ClusterPredictions>(catalogue, learner);
  engine::KubeRunnerOptions run = parts->RunnerOptions();
  RETURN_IF_ERROR(parts->WaitForLease(run));
  auto opened = engine::KubeRunner::Open(*parts->http, std::move(run));
  RETURN_IF_ERROR(opened);
  parts->runner = std::move(*opened);
  const engine::OpenedCluster& there = parts->runner->opened();
  if (there.nodes.empty() && there.models.empty()) {
    std::string why;
    for (const std::string& remark : there.remarks) why += "; " + remark;
    return core::FailedError(
        "no node of the cluster has GPUs that can be used{}; write which ones it has into its "
        "annotation: kubectl annotate node NAME sharewell.io/gpus='H200 GPU-8f2a... GPU-77aa...'",
        why);
  }
  return std::unique_ptr<KubeCluster>(new KubeCluster(std::move(parts)));
}

}  // namespace sharewell::server
