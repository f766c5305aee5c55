#include "server/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "api/api.h"
#include "catalogue/gpu_catalogue.h"
#include "control/sampling/store_writer.h"
#include "control/service/service.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/local/gpu_sharing.h"
#include "engine/local/linux_runner.h"
#include "engine/local/log_keeper.h"
#include "engine/slurm/slurm_client.h"
#include "engine/slurm/slurm_driver.h"
#include "engine/slurm/slurm_runner.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/embedded.h"
#include "platform/files/trusted_path.h"
#include "platform/machine/cpu_topology.h"
#include "platform/process/find_program.h"
#include "policy/registry.h"
#include "server/advisor.h"
#include "server/cluster_monitor.h"
#include "server/daemon.h"
#include "server/dashboard.h"
#include "server/job_keeper.h"
#include "server/job_watch.h"
#include "server/kube_cluster.h"
#include "server/learner.h"
#include "server/neighbours.h"
#include "server/settings.h"
#include "server/slurm_agents.h"
#include "server/slurm_lock.h"
#include "server/slurm_machine.h"
#include "server/slurm_needs.h"
#include "server/slurm_rights.h"
#include "server/studies.h"
#include "server/this_machine.h"
#include "store/job_store.h"
#include "store/kept_jobs.h"
#include "store/learning_store.h"
#include "store/open_database.h"
#include "store/postgres/password.h"
#include "store/store.h"
#include "study/measure/doctor/host_speed.h"
#include "study/prediction/prediction.h"

namespace sharewell::server {

using core::Result;

namespace {

constexpr rlim_t kFiles = 16384;

// When this store first had a server: the zero of its clock, so that times of jobs go on over
// restarts.
Result<core::UnixMillis> EpochOf(store::JobStore& jobs) {
  auto kept = jobs.Kept("epoch");
  RETURN_IF_ERROR(kept);
  core::UnixMillis epoch = 0;
  const std::string text = kept->value_or("");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  // A wall clock that was set back must not make time negative.
  if (error == std::errc() && end == text.data() + text.size() && epoch <= platform::UnixNow()) {
    return epoch;
  }
  epoch = platform::UnixNow();
  store::JobChanges changes;
  changes.kept.emplace_back("epoch", std::to_string(epoch));
  changes.may_use_reserve = true;
  RETURN_IF_ERROR(jobs.Write(changes));
  return epoch;
}

// Now is when it was last changed.
void TouchFile(const std::string& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (made < 0) return;  // a full disk: the watchdog may release the jobs then, which is its task
  (void)::futimens(made, nullptr);
  ::close(made);
}

// Jobs are kept to their share of the SMs by MPS: on all of its GPUs, or the policy gives none.
bool KeepsShares(const MachineHere& machine) {
  const char* path = std::getenv("PATH");
  const bool mps =
      platform::FindProgram(engine::SharingOptions().program, path != nullptr ? path : "")
          .has_value();
  return std::all_of(machine.gpus.begin(), machine.gpus.end(), [&](const control::GpuView& gpu) {
    return gpu.simulated || (mps && !gpu.gpu.uuid.starts_with("MIG-"));
  });
}

// Of a Slurm that does not answer at the start.
tl::unexpected<core::Error> AskTheCheck(core::Error error) {
  const bool lone = !error.message.starts_with("another server");
  if (error.kind != core::ErrorKind::kAbsent && lone) {
    error.message += "; `sharewell slurm check` says what is wrong";
  }
  return tl::unexpected(std::move(error));
}

}  // namespace

// Tells the watch which processes are whose. Not in the nameless namespace: Server's parts hold
// one.
class WatchMonitor final : public control::JobMonitor {
 public:
  WatchMonitor(const engine::LinuxRunner& runner, server::JobWatch& watch)
      : runner_(runner), watch_(watch) {}

  void Began(const core::JobRecord& job) override {
    const engine::RunId run{job.number, job.attempt};
    const auto pid = runner_.PidOf(run);
    if (!pid) return;  // it is over already
    std::vector<std::string> gpus;
    for (const core::GivenGpu& gpu : job.gpus) gpus.push_back(gpu.uuid);
    watch_.Add(job.number, *pid, runner_.CgroupOf(run), gpus);
  }
  void Ended(std::int64_t number) override { watch_.Remove(number); }
  core::Profile Seen(std::int64_t number) override { return watch_.Seen(number); }
  control::JobReading Now(std::int64_t number, const std::string& gpu) override {
    return {watch_.Now(gpu).sm, watch_.GpuMemoryOf(number)};
  }
  std::vector<control::Stranger> StrangersOn(const std::string& gpu) override {
    return watch_.StrangersOn(gpu);
  }

 private:
  const engine::LinuxRunner& runner_;
  server::JobWatch& watch_;
};

// In the order they are made; they go in the opposite one.
struct Server::Parts {
  ServerOptions options;
  std::unique_ptr<Settings> settings;
  catalogue::GpuCatalogue catalogue;
  server::MachineHere machine;
  std::string key;  // seals records; empty: not root
  std::unique_ptr<store::JobStore> jobs;
  std::unique_ptr<store::Store> profiles;
  bool end_runs = false;  // of another store
  std::unique_ptr<Learner> learner;
  std::unique_ptr<engine::LinuxRunner> runner;      // null: a cluster's manager runs the jobs
  std::unique_ptr<ClusterMonitor> cluster_monitor;  // of a cluster's jobs
  std::unique_ptr<engine::SlurmDriver> slurm_driver;
  std::unique_ptr<engine::SlurmClient> slurm_client;
  ClusterLock slurm_lock;
  std::unique_ptr<SlurmNeeds> slurm_needs;
  std::unique_ptr<SlurmAgents> slurm_agents;  // where agents on the nodes can be heard
  std::unique_ptr<engine::SlurmRunner> slurm;
  std::string slurm_version;
  std::unique_ptr<KubeCluster> kube;
  std::unique_ptr<server::ServerAdvisor> advisor;
  std::unique_ptr<control::StoreWriter> writer;
  std::unique_ptr<server::JobWatch> watch;
  std::unique_ptr<WatchMonitor> monitor;
  std::unique_ptr<control::Service> service;
  std::atomic<control::Service*> serving = nullptr;  // once it is there, for the watch's thread
  std::unique_ptr<engine::LogKeeper> keeper;
  std::unique_ptr<JobKeeper> job_keeper;
  std::unique_ptr<NeighbourSampler> neighbours;
  std::unique_ptr<http::HttpServer> http;
  std::unique_ptr<api::Api> api;
  std::jthread calibration;

  ~Parts() {
    if (calibration.joinable()) calibration.join();
    if (http) http->Stop();
    api.reset();
    keeper.reset();
    job_keeper.reset();
    neighbours.reset();
    if (service) service->Stop();
    serving = nullptr;
    learner.reset();  // nobody asks it any more; it may tell one thing more, to nobody
    watch.reset();
    if (writer) writer->Stop();
  }

  Result<void> CheckPlaces() const;
  Result<void> OpenStores();
  Result<void> ClaimState();
  Result<void> EndRuns();
  StateOwner Owner() const { return {jobs->Id(), store::WithoutPassword(options.store)}; }
  Result<void> MakeRunner();
  Result<void> MakeSlurm();
  engine::StepsOfRuns MakeClusterMonitor();
  Result<void> MakeKubernetes();
  Result<void> HearAgents(engine::SlurmControlOptions& control);
  const std::string& AgentsStore() const {
    return options.agents_store.empty() ? options.store : options.agents_store;
  }
  Result<void> LockCluster();
  engine::Runner& AnyRunner() {
    if (slurm) return *slurm;
    if (kube) return kube->runner();
    return *runner;
  }
  control::JobMonitor* AnyMonitor() {
    if (cluster_monitor) return cluster_monitor.get();
    return monitor.get();
  }
  Result<void> MakeLearner();
  void MakeWriter();
  void MakeWatch();
  Result<void> MakeApi();
  bool HasRealGpus() const {  // of this machine
    return !options.slurm && !options.kubernetes &&
           std::any_of(machine.gpus.begin(), machine.gpus.end(),
                       [](const control::GpuView& gpu) { return !gpu.simulated; });
  }
  void Calibrate();
};

// It holds the environments of all users' jobs. SQLite's files beside it take over its mode.
void KeepToOneself(const std::string& file) {
  if (const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); made >= 0) {
    ::close(made);
  }
  for (const char* end : {"", "-wal", "-shm"}) (void)::chmod((file + end).c_str(), 0600);
}

// Whoever can change the store or the folders of jobs decides what runs as whom: for root that must
// be root alone.
Result<void> Server::Parts::CheckPlaces() const {
  if (::geteuid() != 0) return {};
  std::vector<std::string> places = {options.state};
  for (const char* name : {"/jobs", "/logs", "/mps", "/store", "/key"}) {
    places.push_back(options.state + name);
  }
  std::error_code error;  // what is not there is not planted there
  std::filesystem::directory_iterator run(options.state + "/jobs", error);
  for (; !error && run != std::filesystem::directory_iterator(); run.increment(error)) {
    places.push_back(run->path().string());
  }
  if (options.store.find("://") == std::string::npos) {
    places.push_back(std::filesystem::path(options.store).parent_path().string());
    for (const char* end : {"", "-wal", "-shm", "-journal", "-reserve", "-server"}) {
      places.push_back(options.store + end);
    }
  }
  for (const std::string& place : places) {
    auto ours = platform::OnlyRootMayChange(place);
    if (ours) continue;
    return core::FailedError(
        "{}: whoever may change it could make the server run any command as root; name folders "
        "that root alone may write (--state DIR, --store DIR/store.db), or look at what lies there "
        "and then chown root and chmod go-w it",
        ours.error().message);
  }
  return {};
}

Result<void> Server::Parts::OpenStores() {
  if (auto ok = CheckPlaces(); !ok) return ok;
  namespace fs = std::filesystem;
  std::error_code ignored;  // opening it will say what is wrong
  const bool file = options.store.find("://") == std::string::npos;
  if (file && !fs::exists(options.store, ignored)) {
    if (auto free = engine::LinuxRunner::FolderIsFree(options.state); !free) return free;
  }
  const fs::path folder = file ? fs::path(options.store).parent_path() : fs::path();
  if (file && folder != store::DefaultFolder() && !fs::is_directory(folder, ignored)) {
    return core::UsageError("{}: there is no folder {}; make it (mkdir -p), or name another store",
                            options.store, core::Quoted(folder.string()));
  }
  fs::create_directories(options.state, ignored);
  if (file) fs::create_directories(folder, ignored);
  // Again, now that they are there: in /tmp somebody else may have been quicker.
  if (auto ok = CheckPlaces(); !ok) return ok;
  if (file) KeepToOneself(options.store);
  if (::geteuid() == 0) {
    auto own = SealKey(options.state);
    RETURN_IF_ERROR(own);
    key = std::move(*own);
  }
  auto opened = store::OpenJobs(options.store, key);
  RETURN_IF_ERROR(opened);
  jobs = std::move(*opened);
  if (auto alone = jobs->BecomeServer(); !alone) return alone;
  if (auto free = engine::LinuxRunner::FolderIsFree(options.state); !free) return free;
  if (auto ours = ClaimState(); !ours) return ours;
  auto second = store::Open(options.store);
  RETURN_IF_ERROR(second);
  profiles = std::move(*second);
  return {};
}

// Numbers start again in every store: the runs of another one are not this one's jobs.
Result<void> Server::Parts::ClaimState() {
  const auto others = RunsOfOthers(options.state, *jobs);
  RETURN_IF_ERROR(others);
  if (!others->empty() && options.runs == OtherRuns::kRefuse) {
    return tl::unexpected(RefusalOf(options.state, *others));
  }
  if (!others->empty() && options.runs == OtherRuns::kEnd) {
    end_runs = true;  // by the runner, once there is one
    return {};
  }
  if (!others->empty()) {
    RETURN_IF_ERROR(AdoptRuns(options.state, *others, *jobs));
  }
  const auto before = OwnerOf(options.state);
  if (before && before->id != jobs->Id()) {
    options.say(fmt::format("{} was used with another store before ({}); its logs are kept apart",
                            options.state, before->place));
  }
  return SetOwner(options.state, Owner());
}

Result<void> Server::Parts::EndRuns() {
  if (!end_runs) return {};
  std::size_t left = 0;
  for (const engine::RunRequest& run : runner->Recover()) {
    runner->Stop(run.id, options.grace);
    ++left;
  }
  const core::Seconds until = runner->Now() + options.grace + core::Seconds(10);
  while (left > 0 && runner->Now() < until) {
    std::vector<engine::RunEvent> events;
    runner->Wait(runner->Now() + core::Seconds(1), events);
    for (const engine::RunEvent& event : events) {
      if (event.kind != engine::RunEvent::Kind::kEnded) continue;
      options.say(fmt::format("job {} of another store was ended", event.id.job));
      runner->Forget(event.id);
      --left;
    }
  }
  if (left > 0) {
    return core::FailedError("{} of another store did not end; end them by hand, then try again",
                             core::Count(left, "run", "runs"));
  }
  return SetOwner(options.state, Owner());
}

Result<void> Server::Parts::MakeRunner() {
  const auto epoch = EpochOf(*jobs);
  RETURN_IF_ERROR(epoch);
  engine::LinuxRunnerOptions run;
  run.state = options.state;
  run.store_id = jobs->Id();
  run.origin = core::Seconds(static_cast<double>(platform::UnixNow() - *epoch) / 1e3);
  run.grace = options.grace;
  run.logs.of_user = [this](std::uint32_t uid) { return settings->LimitsOf(uid).log_bytes; };
  std::vector<int> nodes;
  const bool real = HasRealGpus();
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::string& bus = machine.pci_buses[i];
    const auto node = bus.empty() ? std::nullopt : platform::PciNumaNode(bus);
    if (!node) continue;
    run.gpu_nodes[machine.gpus[i].gpu.uuid] = *node;
    nodes.push_back(*node);
  }
  if (!machine.simulated_cores) run.cpus = engine::CpuRoom::LayoutHere(std::move(nodes));
  if (real) run.lost_gpus = [this] { return watch->Lost(); };  // there before anything runs
  if (real) run.sharing = engine::SharingOptions{.folder = run.state + "/mps"};
  auto opened = engine::LinuxRunner::Open(std::move(run));
  RETURN_IF_ERROR(opened);
  runner = std::move(*opened);
  return EndRuns();
}

// A dry run changes nothing, and in user mode everybody places his own jobs.
Result<void> Server::Parts::LockCluster() {
  if (options.slurm->user_mode || options.slurm->dry_run || ::geteuid() != 0) return {};
  auto cluster = ClusterName(*slurm_driver);
  RETURN_IF_ERROR(cluster);
  auto lock = ClusterLock::Take(
      kSlurmLocks, *cluster, options.slurm->partition,
      fmt::format("process {} with {}", ::getpid(), store::WithoutPassword(options.store)));
  RETURN_IF_ERROR(lock);
  slurm_lock = std::move(*lock);
  return {};
}

// Agents on other machines write into a PostgreSQL store alone.
Result<void> Server::Parts::HearAgents(engine::SlurmControlOptions& control) {
  if (!store::IsPostgres(AgentsStore())) return {};
  SlurmAgentsOptions hear;
  hear.open = [place = AgentsStore()] { return store::Open(place); };
  hear.wall = [] { return platform::UnixNow(); };
  slurm_agents = std::make_unique<SlurmAgents>(std::move(hear));
  auto nodes = slurm_client->Nodes();
  if (!nodes) return AskTheCheck(std::move(nodes.error()));
  std::vector<std::string> names;
  for (const engine::SlurmNode& node : *nodes) names.push_back(node.name);
  slurm_agents->Look(names);
  control.watched = [this](const std::string& node) { return slurm_agents->On(node); };
  return {};
}

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

Result<void> Server::Parts::MakeSlurm() {
  const auto epoch = EpochOf(*jobs);
  RETURN_IF_ERROR(epoch);
  slurm_driver = engine::NewCommandDriver();
  slurm_client = engine::NewSlurmClient(*slurm_driver, options.slurm->partition);
  auto version = slurm_client->Version();
  if (!version) return AskTheCheck(std::move(version.error()));
  slurm_version = std::move(*version);
  RETURN_IF_ERROR(LockCluster());
  engine::SlurmRunnerOptions run;
  run.origin = core::Seconds(static_cast<double>(platform::UnixNow() - *epoch) / 1e3);
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
  slurm_needs = std::make_unique<SlurmNeeds>(catalogue, *learner);
  // The cluster is there before the first job is read.
  run.control.predict = [this](const engine::UserWords& words, const engine::SlurmJob& job,
                               const core::Submission& asked) {
    const auto& models = slurm->models();
    return slurm_needs->Of(words, job, asked, models.empty() ? "H200" : models.front());
  };
  auto opened = engine::SlurmRunner::Open(*slurm_client, std::move(run));
  if (!opened) return AskTheCheck(std::move(opened.error()));
  slurm = std::move(*opened);
  if (slurm->nodes().empty() && slurm->models().empty() && !options.slurm->partition.empty()) {
    return core::FailedError(
        "Slurm's partition {} has no node that can be used; `sinfo -h -o %R` lists the partitions, "
        "`sharewell slurm check --partition {}` says what is missing",
        core::Quoted(options.slurm->partition), options.slurm->partition);
  }
  auto found = SlurmMachine(slurm->nodes(), slurm->models(), catalogue);
  RETURN_IF_ERROR(found);
  machine = std::move(*found);
  machine.remarks = slurm->remarks();
  if (!options.slurm->user_mode && !options.slurm->dry_run) {
    const std::string remark = SlurmRightsRemark(*slurm_driver, ::geteuid());
    if (!remark.empty()) machine.remarks.push_back(remark);
  }
  return {};
}

Result<void> Server::Parts::MakeKubernetes() {
  const auto epoch = EpochOf(*jobs);
  RETURN_IF_ERROR(epoch);
  const auto last_number = jobs->LastNumber();
  RETURN_IF_ERROR(last_number);
  KubeClusterOptions with;
  with.kubernetes = *options.kubernetes;
  with.node = options.node;
  with.models = options.state + "/models";
  with.origin = core::Seconds(static_cast<double>(platform::UnixNow() - *epoch) / 1e3);
  with.first_number = *last_number + 1;
  with.say = options.say;
  with.steps = MakeClusterMonitor();
  auto opened = KubeCluster::Open(std::move(with), catalogue, *learner);
  RETURN_IF_ERROR(opened);
  kube = std::move(*opened);
  auto found = SlurmMachine(kube->runner().nodes(), kube->runner().models(), catalogue);
  RETURN_IF_ERROR(found);
  machine = std::move(*found);
  machine.remarks = kube->runner().remarks();
  return {};
}

// Before whoever predicts.
Result<void> Server::Parts::MakeLearner() {
  auto given = study::TrainedOrBuiltin(options.trained);
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

void Server::Parts::MakeWatch() {
  server::JobWatchOptions look;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const core::GivenGpu& gpu = machine.gpus[i].gpu;
    look.gpus.push_back({gpu.uuid, machine.instances[i], gpu.model});
  }
  look.sample = [this](const std::shared_ptr<const core::Batch>& batch) { writer->Put(batch); };
  // What works is not worth a line each; what does not, or does again, is.
  look.say = [this](const std::string& line) {
    if (!line.ends_with(": works")) options.say(line);
  };
  look.strangers_changed = [this] {
    if (control::Service* told = serving) told->LookAgain();
  };
  watch = std::make_unique<server::JobWatch>(std::move(look));
  monitor = std::make_unique<WatchMonitor>(*runner, *watch);
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
  auto listening = http::HttpServer::Listen(options.addresses, limits);
  RETURN_IF_ERROR(listening);
  http = std::move(*listening);
  api::ApiOptions api_options;
  api_options.access = {options.state + "/" + std::string(api::kTokenFile), options.admin_group,
                        ::geteuid(), [this](std::uint32_t uid, std::vector<std::uint32_t> groups) {
                          settings->Meet(uid, std::move(groups));
                        }};
  api_options.limits = [this](const core::Account& who) { return settings->Explain(who); };
  api_options.openapi = platform::EmbeddedOpenApi();
  api_options.page = DashboardFiles();
  StudyParts parts{&machine,      &catalogue, service.get(), watch.get(),    learner.get(),
                   options.store, jobs->Id(), options.state, options.policy, options.max_slowdown};
  api = std::make_unique<api::Api>(
      *http, *service, [place = options.store, key = key] { return store::OpenJobs(place, key); },
      ServerStudies(parts), api_options);
  return {};
}

// At the first start on a machine; nobody waits for it.
void Server::Parts::Calibrate() {
  calibration = std::jthread([this] {
    const auto speed = study::MeasureHostSpeed();
    if (!speed) {
      return options.say(fmt::format(
          "what the host's memory moves was not measured: {}; `sharewell doctor --calibrate` "
          "tries again",
          speed.error().message));
    }
    if (auto kept = study::KeepHostSpeed(options.state, study::MachineKey(), *speed); !kept) {
      options.say(fmt::format("host: {}", kept.error().message));
    }
    service->SetMemoryBandwidth(speed->memory_bandwidth);
    options.say("host: " + study::InWords(*speed));
  });
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  // Streams and supervisors take descriptors; the usual 1,024 is for one user's shell.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFiles) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, kFiles);
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->settings = std::make_unique<Settings>(
      options.settings,
      SettingsOptions{.own_uid = ::geteuid(), .admin_group = options.admin_group});
  parts->catalogue = catalogue::GpuCatalogue::Builtin();
  if (!options.slurm && !options.kubernetes) {
    auto machine = server::FindMachine(
        {.gpus = options.gpus, .nvml_library = collect::GivenNvmlLibrary()}, parts->catalogue);
    RETURN_IF_ERROR(machine);
    parts->machine = std::move(*machine);
  }
  RETURN_IF_ERROR(parts->OpenStores());
  RETURN_IF_ERROR(parts->MakeLearner());
  // Simulated GPUs contend for nothing on this host, and without GPUs nobody gives way.
  const auto host = parts->HasRealGpus() ? study::KeptHostSpeed(options.state, study::MachineKey())
                                         : std::nullopt;
  if (host) parts->machine.cluster.ShareOutMemoryBandwidth(host->memory_bandwidth);
  RETURN_IF_ERROR(options.slurm        ? parts->MakeSlurm()
                  : options.kubernetes ? parts->MakeKubernetes()
                                       : parts->MakeRunner());
  auto advisor = server::ServerAdvisor::New(
      parts->machine.cluster, parts->catalogue, *parts->profiles, *parts->jobs,
      {.policy = options.policy,
       .max_slowdown = options.max_slowdown,
       .sm_shares = parts->slurm || parts->kube || KeepsShares(parts->machine),
       .pauses_runs = parts->AnyRunner().WhyNoPause().empty(),
       .pause_after = options.pause_gap,
       .say = options.say,
       .learn = [learner = parts->learner.get()](store::KeptRun run) {
         learner->KeepRun(std::move(run));
       }});
  RETURN_IF_ERROR(advisor);
  parts->advisor = std::move(*advisor);
  parts->MakeWriter();
  if (parts->runner) parts->MakeWatch();
  control::ServiceOptions service;
  service.max_slowdown = options.max_slowdown;
  service.grace = options.grace;
  service.alone = !policy::SharesGpus(options.policy);
  service.pause_gap = options.pause_gap;
  service.simulated_cores = parts->machine.simulated_cores;
  service.say = options.say;
  if (options.slurm) {
    service.no_submissions =
        "this server places the jobs of a Slurm cluster: submit with sbatch, or with `sharewell "
        "sbatch` where it runs in user mode";
  }
  if (options.kubernetes) {
    service.no_submissions = fmt::format(
        "this server binds the pods of a Kubernetes cluster: make a pod with schedulerName {}",
        options.kubernetes->scheduler);
  }
  service.limits.of = [all = parts->settings.get()](const core::Account& who) {
    return all->LimitsOf(who);
  };
  parts->service = std::make_unique<control::Service>(parts->machine.cluster, parts->machine.gpus,
                                                      parts->AnyRunner(), *parts->advisor,
                                                      *parts->jobs, service, parts->AnyMonitor());
  parts->serving = parts->service.get();
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
  engine::LogRetention logs;
  logs.of_user = [all = parts->settings.get()](std::uint32_t uid) {
    return all->LimitsOf(uid).log_bytes;
  };
  // From now on the board knows all jobs that are not over.
  if (parts->runner)
    parts->keeper = std::make_unique<engine::LogKeeper>(
        options.state,
        engine::LogOwners{.store = parts->jobs->Id(),
                          .live =
                              [&board = parts->service->board()](std::int64_t number) {
                                const control::JobPtr job = board.Find(number);
                                return job != nullptr && !core::IsOver(job->phase);
                              },
                          .ledger = &parts->runner->ledger()},
        logs);
  parts->job_keeper = std::make_unique<JobKeeper>(
      [place = options.store] { return store::OpenKeptJobs(place); },
      [all = parts->settings.get()](const std::string& user) -> std::optional<core::Bytes> {
        const auto account = api::AccountNamed(user);
        if (!account) return std::nullopt;  // nobody here: it goes with the year
        return all->LimitsOf(*account).kept_bytes;
      });
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

bool Server::HasGpus() const { return !parts_->machine.gpus.empty(); }

std::vector<std::string> Server::Greeting() const {
  std::vector<std::string> lines;
  std::size_t simulated = 0;
  for (const control::GpuView& gpu : parts_->machine.gpus) simulated += gpu.simulated ? 1 : 0;
  std::string gpus = "no GPU: CPU-only jobs run here";
  std::vector<std::string> counts;  // of a cluster
  const auto& models = parts_->machine.cluster.models();
  for (std::size_t m = 0; m < models.size(); ++m) {
    counts.push_back(
        fmt::format("{} {}", parts_->machine.cluster.CountOf(core::GpuModelId(m)), models[m].name));
  }
  if (parts_->kube) {
    const KubernetesOptions& with = *parts_->options.kubernetes;
    lines.push_back(
        fmt::format("Kubernetes, pods with schedulerName {}{}: {} up, with {}", with.scheduler,
                    with.name_space.empty() ? "" : ", namespace " + core::Quoted(with.name_space),
                    core::Count(parts_->machine.cluster.nodes().size(), "node is", "nodes are"),
                    counts.empty() ? "no GPU" : fmt::format("{}", fmt::join(counts, " and "))));
    if (!store::IsPostgres(parts_->AgentsStore())) {
      lines.push_back(
          "agents on other machines are not heard, as the store is a file: what pods do there is "
          "not seen, and they share GPUs by what is predicted of them; --agents-store "
          "postgresql://USER@HOST/DATABASE hears them");
    }
    gpus = "a Kubernetes cluster";
  } else if (parts_->slurm) {
    lines.push_back(fmt::format(
        "{}{}: {} up, with {}", parts_->slurm_version,
        parts_->options.slurm->partition.empty()
            ? ""
            : fmt::format(", partition {}", core::Quoted(parts_->options.slurm->partition)),
        core::Count(parts_->machine.cluster.nodes().size(), "node is", "nodes are"),
        counts.empty() ? "no GPU" : fmt::format("{}", fmt::join(counts, " and "))));
    if (!parts_->slurm_agents) {
      lines.push_back(
          "agents on the nodes are not heard, as the store is a file: jobs share GPUs by what is "
          "predicted of them alone; --store postgresql://USER@HOST/DATABASE hears them");
    }
    if (parts_->options.slurm->dry_run) {
      lines.push_back("dry run: it says what it would do, and changes nothing in Slurm");
    }
    if (parts_->options.slurm->user_mode) {
      lines.push_back(
          "user mode: only jobs that you submitted with `sharewell sbatch` are placed; they share "
          "GPUs with each other alone, and SM shares are not enforced");
    }
    gpus = "a Slurm cluster";
  } else if (!parts_->machine.gpus.empty()) {
    gpus = fmt::format("{} GPU{}", parts_->machine.gpus.size(),
                       parts_->machine.gpus.size() == 1 ? "" : "s");
    if (simulated > 0) gpus += " (simulated)";
  }
  lines.push_back(fmt::format("serving {} with policy {}: {}", parts_->options.node,
                              parts_->options.policy, gpus));
  for (const std::string& remark : parts_->machine.remarks) lines.push_back(remark);
  for (const std::string& remark : parts_->settings->remarks()) lines.push_back(remark);
  lines.push_back("jobs are kept in " + store::WithoutPassword(parts_->options.store));
  for (std::size_t i = 0; i < parts_->options.addresses.size(); ++i) {
    const http::ListenAddress& address = parts_->options.addresses[i];
    http::Endpoint at = address.endpoint;
    at.port = parts_->http->Port(i);
    if (address.kind != http::ListenKind::kUnix && at.port == 0) continue;  // told below
    lines.push_back(address.kind == http::ListenKind::kUnix
                        ? "socket for users of this machine: " + address.path
                        : fmt::format("{}://{}/api/v1",
                                      address.kind == http::ListenKind::kTls ? "https" : "http",
                                      at.Text()));
  }
  for (const std::string& missing : parts_->http->Missing()) {
    lines.push_back(missing + "; until then it is tried again every few seconds");
  }
  return lines;
}

}  // namespace sharewell::server
