// A server whose jobs run in a cluster of Slurm or of Kubernetes.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "platform/clock/wall_clock.h"
#include "server/cluster_machine.h"
#include "server/server_parts.h"
#include "server/slurm/slurm_needs.h"
#include "server/slurm/slurm_rights.h"

namespace sharewell::server {

using core::Result;

namespace {

// Now is when it was last changed.
void TouchFile(const std::string& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (made < 0) return;  // a full disk: the watchdog may release the jobs then, which is its task
  (void)::futimens(made, nullptr);
  ::close(made);
}

// Of a Slurm that does not answer at the start.
tl::unexpected<core::Error> AskTheCheck(core::Error error) {
  if (error.kind != core::ErrorKind::kAbsent && error.cause != core::ErrorCause::kTaken) {
    error.message += "; `sharewell slurm check` says what is wrong";
  }
  return tl::unexpected(std::move(error));
}

tl::unexpected<core::Error> NoSlurmNode(const SlurmOptions& slurm) {
  if (slurm.partition.empty()) {
    return core::FailedError(
        "Slurm has no node that can be used; `sharewell slurm check` says what is missing");
  }
  return core::FailedError(
      "Slurm's partition {} has no node that can be used; `sinfo -h -o %R` lists the partitions, "
      "`sharewell slurm check --partition {}` says what is missing",
      core::Quoted(slurm.partition), slurm.partition);
}

}  // namespace

// Reads what agents on the nodes put into the store. What runs where, the engine tells it.
engine::StepsOfRuns Server::Parts::MakeClusterMonitor() {
  ClusterMonitorOptions look;
  look.open = [place = AgentsStore()] { return store::Open(place); };
  look.wall = [] { return platform::UnixNow(); };
  look.say = options.say;
  cluster_monitor = std::make_unique<ClusterMonitor>(std::move(look));
  return [this](const std::map<std::int64_t, engine::WatchedRun>& running) {
    return cluster_monitor->Steps(running);
  };
}

// A dry run changes nothing, and in user mode everybody places his own jobs.
Result<void> Server::Parts::LockCluster() {
  if (options.slurm->user_mode || options.slurm->dry_run || ::geteuid() != 0) return {};
  auto cluster = ClusterName(*slurm_commands.driver);
  RETURN_IF_ERROR(cluster);
  auto lock = ClusterLock::Take(
      kSlurmLocks, *cluster, options.slurm->partition,
      fmt::format("process {} with {}", ::getpid(), store::WithoutPassword(options.store)));
  RETURN_IF_ERROR(lock);
  slurm_lock = std::move(*lock);
  return {};
}

void Server::Parts::MakeClusterAgents() {
  ClusterAgentsOptions hear;
  hear.open = [place = AgentsStore()] { return store::Open(place); };
  hear.wall = [] { return platform::UnixNow(); };
  cluster_agents = std::make_unique<ClusterAgents>(std::move(hear));
}

// Agents on other machines write into a PostgreSQL store alone.
Result<void> Server::Parts::HearAgents(engine::SlurmControlOptions& control) {
  if (!store::IsPostgres(AgentsStore())) return {};
  MakeClusterAgents();
  auto nodes = slurm_commands.client->Nodes();
  if (!nodes) return AskTheCheck(std::move(nodes.error()));
  std::vector<std::string> names;
  for (const engine::SlurmNode& node : *nodes) names.push_back(node.name);
  cluster_agents->Look(names);
  control.watched = [this](const std::string& node) {
    return cluster_agents->On(node).value_or(false);
  };
  return {};
}

Result<void> Server::Parts::MakeSlurm() {
  slurm_commands.driver = engine::NewCommandDriver();
  slurm_commands.client = engine::NewSlurmClient(*slurm_commands.driver, options.slurm->partition);
  auto version = slurm_commands.client->Version();
  if (!version) return AskTheCheck(std::move(version.error()));
  slurm_commands.version = std::move(*version);
  RETURN_IF_ERROR(LockCluster());
  engine::SlurmRunnerOptions run;
  const auto origin = Origin();
  RETURN_IF_ERROR(origin);
  run.origin = *origin;
  run.control.model = ModelsOf(catalogue);
  run.control.admin = !options.slurm->user_mode;
  run.control.uid = ::geteuid();
  run.control.dry_run = options.slurm->dry_run;
  run.control.wall = [] { return platform::UnixNow(); };
  run.control.say = options.say;
  if (!options.slurm->user_mode) {
    run.control.claim = ClaimHere(options.slurm->partition, options.node, jobs->Id());
  }
  run.control.steps = MakeClusterMonitor();
  RETURN_IF_ERROR(HearAgents(run.control));
  // For the watchdog (packaging/slurm/watchdog.sh).
  run.control.alive = [file = options.state + "/heartbeat"] { TouchFile(file); };
  predictions = std::make_unique<ClusterPredictions>(catalogue, *learner);
  // The cluster is there before the first job is read.
  run.control.predict = [this](const engine::UserWords& words, const engine::SlurmJob& job,
                               const core::Submission& asked) {
    const auto& models = slurm->opened().models;
    return SlurmNeedsOf(*predictions, words, job, asked, models.empty() ? "H200" : models.front());
  };
  auto opened = engine::SlurmRunner::Open(*slurm_commands.client, std::move(run));
  if (!opened) return AskTheCheck(std::move(opened.error()));
  slurm = std::move(*opened);
  const engine::OpenedCluster& there = slurm->opened();
  if (there.nodes.empty() && there.models.empty()) return NoSlurmNode(*options.slurm);
  auto found = ClusterMachine(there, catalogue);
  RETURN_IF_ERROR(found);
  machine = std::move(*found);
  if (!options.slurm->user_mode && !options.slurm->dry_run) {
    const std::string remark = SlurmRightsRemark(*slurm_commands.driver, ::geteuid());
    if (!remark.empty()) machine.remarks.push_back(remark);
  }
  return {};
}

Result<void> Server::Parts::MakeKubernetes() {
  const auto origin = Origin();
  RETURN_IF_ERROR(origin);
  const auto last_number = jobs->LastNumber();
  RETURN_IF_ERROR(last_number);
  KubeClusterOptions with;
  with.kubernetes = *options.kubernetes;
  with.node = options.node;
  with.models = options.state + "/models";
  with.origin = *origin;
  with.first_number = *last_number + 1;
  with.say = options.say;
  with.steps = MakeClusterMonitor();
  // Where somebody said that there are agents, their silence tells something.
  if (!options.agents_store.empty()) {
    MakeClusterAgents();
    with.watched = [this](const std::string& node) { return cluster_agents->On(node); };
  }
  auto opened = KubeCluster::Open(std::move(with), catalogue, *learner);
  RETURN_IF_ERROR(opened);
  kube = std::move(*opened);
  auto found = ClusterMachine(kube->runner().opened(), catalogue);
  RETURN_IF_ERROR(found);
  machine = std::move(*found);
  return {};
}

}  // namespace sharewell::server
