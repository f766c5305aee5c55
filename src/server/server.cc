// How a server is put together, part by part; what one kind of server alone has is its backend's.
#include "server/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "advice/prediction.h"
#include "engine/kubernetes/pods/pod_words.h"
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
  if (backend) backend->Stop();
  learner.reset();  // nobody asks it any more; it may tell one thing more, to nobody
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
  learn.log = options.log;
  learn.tell = [this](const char* kind, const std::string& text) {
    options.log(text);
    if (control::Service* told = serving) told->Emit(kind, text);
  };
  learner = std::make_unique<Learner>(std::move(learn));
  return {};
}

void Server::Parts::MakeWriter() {
  const std::string place = options.store;
  auto opened = store::Open(place);
  writer = std::make_unique<control::StoreWriter>(
      options.node, opened ? std::move(*opened) : nullptr, [place] { return store::Open(place); },
      options.log);
}

Result<void> Server::Parts::MakeAdvisor() {
  const BackendFace& face = backend->face();
  auto made = ServerAdvisor::New(
      face.machine.cluster, catalogue, *profiles, *jobs,
      {.policy = options.policy,
       .max_slowdown = options.max_slowdown,
       .match_patience = options.match_patience,
       .sm_shares = face.keeps_sm_shares,
       .pauses_runs = face.pauser != nullptr && face.pauser->WhyNoPause().empty(),
       .pause_after = options.pause_gap,
       .project_shares = core::SharesOf(settings->projects()),
       .projects_reclaim = core::Reclaim(settings->projects()),
       .log = options.log,
       .check_images = face.check_images,
       .learn = [this](store::KeptRun run) { learner->KeepRun(std::move(run)); }});
  RETURN_IF_ERROR(made);
  advisor = std::move(*made);
  return {};
}

void Server::Parts::MakeService() {
  const BackendFace& face = backend->face();
  StepReader::Options read;
  if (face.logs != nullptr) {
    read.folder = [state = options.state, store = jobs->Id()](const core::JobRecord& job) {
      return engine::LogFolder(state, store, job.user.uid, job.number);
    };
  }
  const auto& models = face.machine.cluster.models();
  read.usual_gpu = models.empty() ? "H200" : models.front().name;
  step_reader = std::make_unique<StepReader>(*learner, catalogue, std::move(read));
  control::ServiceOptions with;
  with.max_slowdown = options.max_slowdown;
  with.grace = options.grace;
  with.alone = !policy::SharesGpus(options.policy);
  with.pause_gap = options.pause_gap;
  with.simulated_cores = face.machine.simulated_cores;
  with.log = options.log;
  with.no_submissions = face.no_submissions;
  with.user_name = platform::UserName;
  with.limits.of = [this](const core::Account& who) { return settings->LimitsOf(who); };
  with.alone_until_known = [this](const core::Account& who) {
    return settings->UnknownOf(who).alone;
  };
  with.limits.projects = settings->projects();
  with.foreign_queue = face.foreign_queue;
  with.pauser = face.pauser;
  with.told_reader = step_reader.get();
  service = std::make_unique<control::Service>(backend->cluster(), face.machine.gpus, *face.runner,
                                               *advisor, *jobs, with, face.monitor);
  serving = service.get();
}

Result<void> Server::Parts::MakeApi() {
  http::HttpOptions limits;
  limits.refusal = api::Problem;
  limits.log = options.log;
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
  api_options.unknown = [this](const core::Account& who) { return settings->UnknownOf(who); };
  api_options.projects = settings->projects();
  api_options.privacy = backend->face().privacy;
  api_options.openapi = platform::EmbeddedOpenApi();
  api_options.page = DashboardFiles();
  api_options.dashboard = [this] { return DashboardAddress(options, *http); };
  StudyParts parts{&backend->face().machine,
                   &catalogue,
                   service.get(),
                   backend->face().watch,
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
  api::Studies studies = ServerStudies(parts);
  studies.remote_log = backend->face().remote_log;
  backend->TellStarts(studies.starts);
  api = std::make_unique<api::Api>(
      *http, *service, [place = options.store, key = key] { return store::OpenJobs(place, key); },
      std::move(studies), api_options);
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
  if (engine::LogLedger* ledger = backend->face().logs) {
    keeper = std::make_unique<engine::LogKeeper>(
        options.state, engine::LogOwners{.store = jobs->Id(), .live = is_live, .ledger = ledger},
        logs);
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

// At the first start on a machine; nobody waits for it.
void Server::Parts::Calibrate() {
  calibration = std::jthread([this] {
    const auto speed = measure::MeasureHostSpeed();
    if (!speed) {
      return options.log(fmt::format(
          "what the host's memory moves was not measured: {}; `sharewell doctor --calibrate` "
          "tries again",
          speed.error().message));
    }
    if (auto kept = measure::KeepHostSpeed(options.state, measure::MachineKey(), *speed); !kept) {
      options.log(fmt::format("host: {}", kept.error().message));
    }
    service->SetMemoryBandwidth(speed->memory_bandwidth);
    options.log("host: " + measure::InWords(*speed));
  });
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  RaiseFileLimit();
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  SettingsOptions accounts{.own_uid = ::geteuid(), .admin_group = options.admin_group};
  if (options.kubernetes) accounts.uid_of_names = engine::kKubeUid;
  parts->settings = std::make_unique<Settings>(options.settings, std::move(accounts));
  parts->catalogue = catalogue::GpuCatalogue::Builtin();
  auto backend = NewBackend(parts->options, parts->catalogue);
  RETURN_IF_ERROR(backend);
  parts->backend = std::move(*backend);
  RETURN_IF_ERROR(parts->OpenStores());
  RETURN_IF_ERROR(parts->MakeLearner());
  RETURN_IF_ERROR(
      parts->backend->Open({*parts->settings, *parts->jobs, *parts->learner,
                            parts->end_runs ? std::optional(parts->Owner()) : std::nullopt}));
  // Once the runner has found where groups can be made: it gives the controllers on.
  (void)platform::BoundOwnMemory(platform::OwnMemoryBound());
  RETURN_IF_ERROR(parts->MakeAdvisor());
  parts->MakeWriter();
  const auto put = [writer = parts->writer.get()](const std::shared_ptr<const core::Batch>& batch) {
    writer->Put(batch);
  };
  JobWatchOptions look;
  look.sample = put;
  look.strangers_changed = [&serving = parts->serving] {
    if (control::Service* told = serving) told->LookAgain();
  };
  parts->backend->Watch(std::move(look));
  parts->MakeService();
  // The doors are taken before the queue moves: where one is not to be had, nothing has happened.
  RETURN_IF_ERROR(parts->MakeApi());
  RETURN_IF_ERROR(parts->service->Start());
  parts->http->Start();
  parts->neighbours = std::make_unique<NeighbourSampler>(*parts->service, put);
  if (parts->backend->face().measure_host) parts->Calibrate();
  parts->MakeKeepers();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::string Server::Problem() const { return control::ProblemOf(parts_->service->View()); }

bool Server::HasGpus() const { return !parts_->backend->face().machine.gpus.empty(); }

}  // namespace sharewell::server
