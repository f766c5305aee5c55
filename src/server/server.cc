// How a server is put together, part by part; what belongs to one kind of server is told in
// server_local.cc and server_clusters.cc.
#include "server/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "advice/prediction.h"
#include "engine/local/run/job_folder.h"
#include "measure/doctor/host_speed.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/embedded.h"
#include "platform/process/own_memory.h"
#include "platform/process/subordinate_uids.h"
#include "platform/process/user_account.h"
#include "policy/registry.h"
#include "server/dashboard.h"
#include "server/live/studies.h"
#include "server/server_parts.h"
#include "store/kept_jobs.h"
#include "store/learning_store.h"

namespace sharewell::server {

using core::Result;

namespace {

// Streams and supervisors take descriptors; the usual 1,024 is for one user's shell.
void RaiseFileLimit() {
  constexpr rlim_t kFiles = 16384;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFiles) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, kFiles);
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace

Server::Parts::~Parts() {
  if (calibration.joinable()) calibration.join();
  if (http) http->Stop();
  api.reset();
  keeper.reset();
  job_keeper.reset();
  neighbours.reset();
  if (step_reader) step_reader->Stop();
  if (service) service->Stop();
  serving = nullptr;
  if (predictions) predictions->Stop();
  if (kube) kube->StopPredicting();
  learner.reset();  // nobody asks it any more; it may tell one thing more, to nobody
  watch.reset();
  if (writer) writer->Stop();
}

// Before whoever predicts.
Result<void> Server::Parts::MakeLearner() {
  auto given = advice::TrainedOrBuiltin(options.trained);
  if (!given) return tl::unexpected(std::move(given.error()).Within("--trained"));
  LearnerOptions learn;
  learn.open = [place = options.store] { return store::OpenLearning(place); };
  learn.catalogue = &catalogue;
  learn.given = *std::move(given);
  if (!options.trained.empty()) learn.given_name = options.trained;
  learn.wall = [] { return platform::UnixNow(); };
  learn.say = options.say;
  learn.tell = [this](const char* kind, const std::string& text) {
    options.say(text);
    if (control::Service* told = serving) told->Tell(kind, text);
  };
  learner = std::make_unique<Learner>(std::move(learn));
  return {};
}

void Server::Parts::MakeWriter() {
  const std::string place = options.store;
  auto opened = store::Open(place);
  writer = std::make_unique<control::StoreWriter>(
      options.node, opened ? std::move(*opened) : nullptr, [place] { return store::Open(place); },
      options.say);
}

Result<void> Server::Parts::MakeAdvisor() {
  auto made = ServerAdvisor::New(
      machine.cluster, catalogue, *profiles, *jobs,
      {.policy = options.policy,
       .max_slowdown = options.max_slowdown,
       .match_patience = options.match_patience,
       .sm_shares = slurm || kube || KeepsShares(),
       .pauses_runs = runner && runner->WhyNoPause().empty(),
       .pause_after = options.pause_gap,
       .project_shares = core::SharesOf(settings->projects()),
       .projects_reclaim = core::Reclaim(settings->projects()),
       .say = options.say,
       .check_images = runner ? std::function<Result<void>()>(CheckContainerRuntime) : nullptr,
       .learn = [this](store::KeptRun run) { learner->KeepRun(std::move(run)); }});
  RETURN_IF_ERROR(made);
  advisor = std::move(*made);
  return {};
}

void Server::Parts::MakeService() {
  StepReader::Options read;
  if (runner) {
    read.folder = [state = options.state, store = jobs->Id()](const core::JobRecord& job) {
      return engine::LogFolder(state, store, job.user.uid, job.number);
    };
  }
  const auto& models = machine.cluster.models();
  read.usual_gpu = models.empty() ? "H200" : models.front().name;
  step_reader = std::make_unique<StepReader>(*learner, catalogue, std::move(read));
  control::ServiceOptions with;
  with.max_slowdown = options.max_slowdown;
  with.grace = options.grace;
  with.alone = !policy::SharesGpus(options.policy);
  with.pause_gap = options.pause_gap;
  with.simulated_cores = machine.simulated_cores;
  with.say = options.say;
  if (options.slurm) {
    with.no_submissions =
        "this server places the jobs of a Slurm cluster: submit with sbatch, or with `sharewell "
        "sbatch` where it runs in user mode";
  }
  if (options.kubernetes) {
    with.no_submissions = fmt::format(
        "this server binds the pods of a Kubernetes cluster: make a pod with schedulerName {}",
        options.kubernetes->scheduler);
  }
  with.user_name = platform::UserName;
  with.limits.of = [this](const core::Account& who) { return settings->LimitsOf(who); };
  with.alone_until_known = [this](const core::Account& who) {
    return settings->UnknownOf(who.uid).alone;
  };
  engine::ClusterRunner* const cluster = AnyCluster();
  with.limits.projects = settings->projects();
  with.limits.of_a_manager = cluster != nullptr;
  with.foreign_queue = cluster;
  with.pauser = runner.get();
  with.told_reader = step_reader.get();
  engine::Runner& any = cluster != nullptr ? static_cast<engine::Runner&>(*cluster) : *runner;
  service = std::make_unique<control::Service>(machine.cluster, machine.gpus, any, *advisor, *jobs,
                                               with, AnyMonitor());
  serving = service.get();
}

Result<void> Server::Parts::MakeApi() {
  http::HttpOptions limits;
  limits.refusal = api::Problem;
  limits.say = options.say;
  limits.admin = [group = options.admin_group](const http::Peer& peer) {
    return group && api::InGroup(peer, *group);
  };
  limits.limits = [this](std::optional<std::uint32_t> uid) {
    return uid ? settings->LimitsOf(*uid) : core::Limits{};
  };
  limits.counts_for = [uids = std::make_shared<platform::SubordinateUids>()](std::uint32_t uid) {
    return uids->OwnerOf(uid);
  };
  auto listening = http::HttpServer::Listen(options.addresses, limits);
  RETURN_IF_ERROR(listening);
  http = std::move(*listening);
  api::ApiOptions api_options;
  api_options.access = {options.state + "/" + std::string(api::kTokenFile), options.admin_group,
                        ::geteuid(), [this](std::uint32_t uid, std::vector<std::uint32_t> groups) {
                          settings->Meet(uid, std::move(groups));
                        }};
  api_options.limits = [this](const core::Account& who) { return settings->Explain(who); };
  api_options.unknown = [this](const core::Account& who) { return settings->UnknownOf(who.uid); };
  api_options.projects = settings->projects();
  api_options.openapi = platform::EmbeddedOpenApi();
  api_options.page = DashboardFiles();
  api_options.dashboard = [this] { return DashboardAddress(options, *http); };
  StudyParts parts{&machine,
                   &catalogue,
                   service.get(),
                   watch.get(),
                   learner.get(),
                   advisor.get(),
                   options.store,
                   jobs->Id(),
                   options.state,
                   options.policy,
                   options.max_slowdown,
                   options.match_patience,
                   options.settings.prices,
                   settings->projects()};
  api = std::make_unique<api::Api>(
      *http, *service, [place = options.store, key = key] { return store::OpenJobs(place, key); },
      ServerStudies(parts), api_options);
  return {};
}

// From now on the board knows all jobs that are not over.
void Server::Parts::MakeKeepers() {
  engine::LogRetention logs;
  logs.of_user = [this](std::uint32_t uid) { return settings->LimitsOf(uid).log_bytes; };
  const auto is_live = [this](std::int64_t number) {
    const control::JobPtr job = service->board().Find(number);
    return job != nullptr && !core::IsOver(job->phase);
  };
  if (runner) {
    keeper = std::make_unique<engine::LogKeeper>(
        options.state,
        engine::LogOwners{.store = jobs->Id(), .live = is_live, .ledger = &runner->ledger()}, logs);
  }
  job_keeper =
      std::make_unique<JobKeeper>([place = options.store] { return store::OpenKeptJobs(place); },
                                  [this](const std::string& user) -> std::optional<core::Bytes> {
                                    const auto account = api::AccountNamed(user);
                                    if (!account)
                                      return std::nullopt;  // nobody here: it goes with the year
                                    return settings->LimitsOf(*account).kept_bytes;
                                  });
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  RaiseFileLimit();
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->settings = std::make_unique<Settings>(
      options.settings,
      SettingsOptions{.own_uid = ::geteuid(), .admin_group = options.admin_group});
  parts->catalogue = catalogue::GpuCatalogue::Builtin();
  if (!options.slurm && !options.kubernetes) {
    auto machine = FindMachine({.gpus = options.gpus, .nvml_library = collect::GivenNvmlLibrary()},
                               parts->catalogue);
    RETURN_IF_ERROR(machine);
    parts->machine = std::move(*machine);
  }
  RETURN_IF_ERROR(parts->OpenStores());
  RETURN_IF_ERROR(parts->MakeLearner());
  // Simulated GPUs contend for nothing on this host, and without GPUs nobody gives way.
  const auto host = parts->HasRealGpus()
                        ? measure::KeptHostSpeed(options.state, measure::MachineKey())
                        : std::nullopt;
  if (host) parts->machine.cluster.ShareOutMemoryBandwidth(host->memory_bandwidth);
  RETURN_IF_ERROR(options.slurm        ? parts->MakeSlurm()
                  : options.kubernetes ? parts->MakeKubernetes()
                                       : parts->MakeRunner());
  // Once the runner has found where groups can be made: it gives the controllers on.
  (void)platform::BoundOwnMemory(platform::OwnMemoryBound());
  RETURN_IF_ERROR(parts->MakeAdvisor());
  parts->MakeWriter();
  if (parts->runner) parts->MakeWatch();
  parts->MakeService();
  // The doors are taken before the queue moves: where one is not to be had, nothing has happened.
  RETURN_IF_ERROR(parts->MakeApi());
  RETURN_IF_ERROR(parts->service->Start());
  parts->http->Start();
  parts->neighbours = std::make_unique<NeighbourSampler>(
      *parts->service,
      [writer = parts->writer.get()](const std::shared_ptr<const core::Batch>& batch) {
        writer->Put(batch);
      });
  if (parts->HasRealGpus() && !host) parts->Calibrate();
  parts->MakeKeepers();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

bool Server::HasGpus() const { return !parts_->machine.gpus.empty(); }

}  // namespace sharewell::server
