// Slurm keeps running the jobs of its cluster; Sharewell places them.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_runner.h"
#include "engine/slurm/read/slurm_client.h"
#include "engine/slurm/read/slurm_driver.h"
#include "platform/clock/wall_clock.h"
#include "server/cluster_backend.h"
#include "server/cluster_predictions.h"
#include "server/slurm/slurm_lock.h"
#include "server/slurm/slurm_needs.h"
#include "server/slurm/slurm_privacy.h"
#include "server/slurm/slurm_rights.h"
#include "store/open_database.h"
#include "store/postgres/password.h"

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

class SlurmBackend final : public Backend {
 public:
  using Backend::Backend;
  Result<void> Open(const BackendNeeds& needs) override;
  void Watch(JobWatchOptions) override {}  // agents on the nodes do
  void Stop() override {
    if (predictions_) predictions_->Stop();
  }

 private:
  Result<void> Lock();
  Result<void> HearAgents(engine::SlurmControlOptions& control);
  void Greet(const std::string& version);

  std::unique_ptr<ClusterMonitor> monitor_;
  std::unique_ptr<engine::SlurmDriver> driver_;
  std::unique_ptr<engine::SlurmClient> client_;
  ClusterLock lock_;
  std::unique_ptr<ClusterPredictions> predictions_;
  std::unique_ptr<ClusterAgents> agents_;  // null: they cannot be heard
  std::unique_ptr<engine::SlurmRunner> runner_;
};

// A dry run changes nothing, and in user mode everybody places his own jobs.
Result<void> SlurmBackend::Lock() {
  if (options_.slurm->user_mode || options_.slurm->dry_run || ::geteuid() != 0) return {};
  auto cluster = ClusterName(*driver_);
  RETURN_IF_ERROR(cluster);
  auto lock = ClusterLock::Take(
      kSlurmLocks, *cluster, options_.slurm->partition,
      fmt::format("process {} with {}", ::getpid(), store::WithoutPassword(options_.store)));
  RETURN_IF_ERROR(lock);
  lock_ = std::move(*lock);
  return {};
}

// Agents on other machines write into a PostgreSQL store alone.
Result<void> SlurmBackend::HearAgents(engine::SlurmControlOptions& control) {
  if (!store::IsPostgres(options_.AgentsStore())) return {};
  agents_ = NewClusterAgents(options_);
  auto nodes = client_->Nodes();
  if (!nodes) return AskTheCheck(std::move(nodes.error()));
  std::vector<std::string> names;
  for (const engine::SlurmNode& node : *nodes) names.push_back(node.name);
  agents_->Look(names);
  control.watched = [this](const std::string& node) { return agents_->On(node).value_or(false); };
  return {};
}

Result<void> SlurmBackend::Open(const BackendNeeds& needs) {
  driver_ = engine::NewCommandDriver();
  client_ = engine::NewSlurmClient(*driver_, options_.slurm->partition);
  auto version = client_->Version();
  if (!version) return AskTheCheck(std::move(version.error()));
  RETURN_IF_ERROR(Lock());
  auto privacy = SlurmPrivacy(*driver_);
  if (!privacy) return AskTheCheck(std::move(privacy.error()));
  face_.privacy = *std::move(privacy);
  engine::SlurmRunnerOptions run;
  const auto origin = OriginOf(needs.jobs);
  RETURN_IF_ERROR(origin);
  run.origin = *origin;
  run.control.model = ModelsOf(catalogue_);
  run.control.admin = !options_.slurm->user_mode;
  run.control.uid = ::geteuid();
  run.control.dry_run = options_.slurm->dry_run;
  run.control.private_jobs = face_.privacy.jobs;
  run.control.wall = [] { return platform::UnixNow(); };
  run.control.log = options_.log;
  if (!options_.slurm->user_mode) {
    run.control.claim = ClaimHere(options_.slurm->partition, options_.node, needs.jobs.Id());
  }
  monitor_ = NewClusterMonitor(options_);
  run.control.steps = [this](const std::map<std::int64_t, engine::WatchedRun>& running) {
    return monitor_->Steps(running);
  };
  RETURN_IF_ERROR(HearAgents(run.control));
  // For the watchdog (packaging/slurm/watchdog.sh).
  run.control.alive = [file = options_.state + "/heartbeat"] { TouchFile(file); };
  predictions_ = std::make_unique<ClusterPredictions>(catalogue_, needs.learner);
  // The cluster is there before the first job is read.
  run.control.predict = [this](const engine::UserWords& words, const engine::SlurmJob& job,
                               const core::Submission& asked) {
    const auto& models = runner_->opened().models;
    return SlurmNeedsOf(*predictions_, words, job, asked, models.empty() ? "H200" : models.front());
  };
  auto opened = engine::SlurmRunner::Open(*client_, std::move(run));
  if (!opened) return AskTheCheck(std::move(opened.error()));
  runner_ = std::move(*opened);
  const engine::OpenedCluster& there = runner_->opened();
  if (there.nodes.empty() && there.models.empty()) return NoSlurmNode(*options_.slurm);
  RETURN_IF_ERROR(ShowCluster(*runner_, *monitor_, catalogue_, face_));
  if (!options_.slurm->user_mode && !options_.slurm->dry_run) {
    const std::string remark = SlurmRightsRemark(*driver_, ::geteuid());
    if (!remark.empty()) face_.machine.remarks.push_back(remark);
  }
  face_.no_submissions =
      "this server places the jobs of a Slurm cluster: submit with sbatch, or with `sharewell "
      "sbatch` where it runs in user mode";
  Greet(*version);
  face_.serves = "a Slurm cluster";
  return {};
}

void SlurmBackend::Greet(const std::string& version) {
  std::vector<std::string>& lines = face_.greeting;
  lines.push_back(
      fmt::format("{}{}: {}", version,
                  options_.slurm->partition.empty()
                      ? ""
                      : fmt::format(", partition {}", core::Quoted(options_.slurm->partition)),
                  NodesThatAreUp(face_.machine.cluster)));
  if (!agents_) {
    lines.push_back(
        "agents on the nodes are not heard, as the store is a file: jobs share GPUs by what is "
        "predicted of them alone; --store postgresql://USER@HOST/DATABASE hears them");
  }
  if (face_.privacy.jobs) {
    lines.push_back(face_.privacy.setting +
                    ": users who are no operators see their own jobs alone");
  }
  if (options_.slurm->dry_run) {
    lines.push_back("dry run: it says what it would do, and changes nothing in Slurm");
  }
  if (options_.slurm->user_mode) {
    lines.push_back(
        "user mode: only jobs that you submitted with `sharewell sbatch` are placed; they share "
        "GPUs with each other alone, and SM shares are not enforced");
  }
}

}  // namespace

std::unique_ptr<Backend> NewSlurmBackend(const ServerOptions& options,
                                         const catalogue::GpuCatalogue& catalogue) {
  return std::make_unique<SlurmBackend>(options, catalogue);
}

}  // namespace sharewell::server
