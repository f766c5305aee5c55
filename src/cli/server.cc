#include "cli/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "cli/daemon.h"
#include "cli/server_studies.h"
#include "cli/store_flag.h"
#include "cli/when.h"
#include "control/sampling/store_writer.h"
#include "control/service/service.h"
#include "core/shown.h"
#include "engine/local/linux_runner.h"
#include "engine/local/log_keeper.h"
#include "platform/files/gpu_catalogue.h"
#include "serve/api/api.h"
#include "store/job_store.h"
#include "store/store.h"
#include "study/job_watch.h"
#include "study/server_advisor.h"
#include "study/this_machine.h"

namespace sharewell::cli {

using core::Result;

namespace {

constexpr rlim_t kFiles = 16384;

// When this store first had a server: the zero of its clock, so that times of jobs go on over
// restarts.
Result<core::UnixMillis> EpochOf(store::JobStore& jobs) {
  auto kept = jobs.Kept("epoch");
  if (!kept) return tl::unexpected(std::move(kept.error()));
  core::UnixMillis epoch = 0;
  const std::string text = kept->value_or("");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  // A wall clock that was set back must not make time negative.
  if (error == std::errc() && end == text.data() + text.size() && epoch <= UnixNow()) {
    return epoch;
  }
  epoch = UnixNow();
  store::JobChanges changes;
  changes.kept.emplace_back("epoch", std::to_string(epoch));
  if (auto written = jobs.Write(changes); !written) return tl::unexpected(written.error());
  return epoch;
}

}  // namespace

// Tells the watch which processes are whose. Not in the nameless namespace: Server's parts hold
// one.
class WatchMonitor final : public control::JobMonitor {
 public:
  WatchMonitor(const engine::LinuxRunner& runner, study::JobWatch& watch)
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

 private:
  const engine::LinuxRunner& runner_;
  study::JobWatch& watch_;
};

std::string StateFolder(const std::string& store) {
  const bool url = store.find("://") != std::string::npos;
  const auto file = std::filesystem::absolute(url ? store::DefaultStore() : store);
  return file.parent_path().string();
}

// In the order they are made; they go in the opposite one.
struct Server::Parts {
  ServerOptions options;
  platform::GpuCatalogue catalogue;
  study::MachineHere machine;
  std::unique_ptr<store::JobStore> jobs;
  std::unique_ptr<store::Store> profiles;
  std::unique_ptr<engine::LinuxRunner> runner;
  std::unique_ptr<study::ServerAdvisor> advisor;
  std::unique_ptr<control::StoreWriter> writer;
  std::unique_ptr<study::JobWatch> watch;
  std::unique_ptr<WatchMonitor> sight;
  std::unique_ptr<control::Service> service;
  std::unique_ptr<engine::LogKeeper> keeper;
  std::unique_ptr<serve::ServiceDesk> desk;
  std::unique_ptr<serve::HttpServer> http;
  std::unique_ptr<serve::Api> api;

  ~Parts() {
    if (http) http->Stop();
    api.reset();
    keeper.reset();
    if (service) service->Stop();
    watch.reset();
    if (writer) writer->Stop();
  }

  Result<void> OpenStores();
  Result<void> MakeRunner();
  void MakeWatch();
  Result<void> MakeApi();
};

// It holds the environments of all users' jobs. SQLite's files beside it take over its mode.
void KeepToOneself(const std::string& file) {
  if (const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); made >= 0) {
    ::close(made);
  }
  for (const char* end : {"", "-wal", "-shm"}) (void)::chmod((file + end).c_str(), 0600);
}

Result<void> Server::Parts::OpenStores() {
  if (options.store.find("://") == std::string::npos) {
    std::error_code ignored;  // opening it will say what is wrong
    if (!std::filesystem::exists(options.store, ignored)) {
      if (auto free = engine::LinuxRunner::FolderIsFree(StateFolder(options.store)); !free)
        return free;
    }
    std::filesystem::create_directories(StateFolder(options.store), ignored);
    KeepToOneself(options.store);
  }
  auto opened = store::OpenJobs(options.store);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  jobs = std::move(*opened);
  if (auto alone = jobs->BecomeServer(); !alone) return alone;
  if (auto free = engine::LinuxRunner::FolderIsFree(StateFolder(options.store)); !free) return free;
  auto second = store::Open(options.store);
  if (!second) return tl::unexpected(std::move(second.error()));
  profiles = std::move(*second);
  return {};
}

Result<void> Server::Parts::MakeRunner() {
  const auto epoch = EpochOf(*jobs);
  if (!epoch) return tl::unexpected(epoch.error());
  engine::LinuxRunnerOptions run;
  run.state = StateFolder(options.store);
  run.origin = core::Seconds(static_cast<double>(UnixNow() - *epoch) / 1e3);
  run.grace = options.grace;
  std::vector<int> nodes;
  bool real = false;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    real |= !machine.gpus[i].simulated;
    const std::string& bus = machine.pci_buses[i];
    const auto node = bus.empty() ? std::nullopt : engine::CpuRoom::NodeOfPci(bus);
    if (!node) continue;
    run.gpu_nodes[machine.gpus[i].gpu.uuid] = *node;
    nodes.push_back(*node);
  }
  run.cpus = engine::CpuRoom::LayoutHere(std::move(nodes));
  if (real) run.lost_gpus = [this] { return watch->Lost(); };  // there before anything runs
  if (real) run.sharing = engine::SharingOptions{.folder = run.state + "/mps"};
  auto opened = engine::LinuxRunner::Open(std::move(run));
  if (!opened) return tl::unexpected(std::move(opened.error()));
  runner = std::move(*opened);
  return {};
}

void Server::Parts::MakeWatch() {
  const std::string place = options.store;
  auto opened = store::Open(place);
  writer = std::make_unique<control::StoreWriter>(
      options.node, opened ? std::move(*opened) : nullptr, [place] { return store::Open(place); },
      SayLine);
  study::JobWatchOptions look;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const core::GivenGpu& gpu = machine.gpus[i].gpu;
    look.gpus.push_back({gpu.uuid, machine.instances[i], gpu.model});
  }
  look.sample = [this](const std::shared_ptr<const core::Batch>& batch) { writer->Put(batch); };
  // What works is not worth a line each; what does not, or does again, is.
  look.say = [](const std::string& line) {
    if (!line.ends_with(": works")) SayLine(line);
  };
  watch = std::make_unique<study::JobWatch>(std::move(look));
  sight = std::make_unique<WatchMonitor>(*runner, *watch);
}

Result<void> Server::Parts::MakeApi() {
  serve::HttpOptions limits;
  limits.refusal = serve::Problem;
  auto listening = serve::HttpServer::Listen(options.doors, limits);
  if (!listening) return tl::unexpected(std::move(listening.error()));
  http = std::move(*listening);
  desk = std::make_unique<serve::ServiceDesk>(*service);
  serve::ApiOptions api_options;
  const std::string state = StateFolder(options.store);
  api_options.access = {state + "/" + std::string(serve::kTokenFile), options.admin_group,
                        ::geteuid()};
  StudyParts parts{&machine,      &catalogue, service.get(),  watch.get(),
                   options.store, state,      options.policy, options.max_slowdown};
  api = std::make_unique<serve::Api>(
      *http, *desk, [place = options.store] { return store::OpenJobs(place); },
      ServerStudies(parts), api_options);
  return {};
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
  parts->catalogue = platform::GpuCatalogue::Builtin();
  auto machine = study::FindMachine({.gpus = options.gpus}, parts->catalogue);
  if (!machine) return tl::unexpected(std::move(machine.error()));
  parts->machine = std::move(*machine);
  if (auto ok = parts->OpenStores(); !ok) return tl::unexpected(std::move(ok.error()));
  if (auto ok = parts->MakeRunner(); !ok) return tl::unexpected(std::move(ok.error()));
  auto advisor = study::ServerAdvisor::New(
      parts->machine.cluster, parts->catalogue, *parts->profiles, *parts->jobs,
      {.policy = options.policy, .max_slowdown = options.max_slowdown, .say = SayLine});
  if (!advisor) return tl::unexpected(std::move(advisor.error()));
  parts->advisor = std::move(*advisor);
  parts->MakeWatch();
  control::ServiceOptions service;
  service.max_slowdown = options.max_slowdown;
  service.grace = options.grace;
  service.say = SayLine;
  parts->service = std::make_unique<control::Service>(parts->machine.cluster, parts->machine.gpus,
                                                      *parts->runner, *parts->advisor, *parts->jobs,
                                                      service, parts->sight.get());
  // The doors are taken before the queue moves: where one is not to be had, nothing has happened.
  if (auto ok = parts->MakeApi(); !ok) return tl::unexpected(std::move(ok.error()));
  if (auto ok = parts->service->Start(); !ok) return tl::unexpected(std::move(ok.error()));
  parts->http->Start();
  // From now on the board knows all jobs that are not over.
  parts->keeper = std::make_unique<engine::LogKeeper>(
      StateFolder(options.store), [&board = parts->service->board()](std::int64_t number) {
        const control::JobPtr job = board.Find(number);
        return job != nullptr && !core::IsOver(job->phase);
      });
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

bool Server::HasGpus() const { return !parts_->machine.gpus.empty(); }

std::vector<std::string> Server::Greeting() const {
  std::vector<std::string> lines;
  std::size_t simulated = 0;
  for (const control::GpuView& gpu : parts_->machine.gpus) simulated += gpu.simulated ? 1 : 0;
  std::string gpus = "no GPU: CPU-only jobs run here";
  if (!parts_->machine.gpus.empty()) {
    gpus = fmt::format("{} GPU{}", parts_->machine.gpus.size(),
                       parts_->machine.gpus.size() == 1 ? "" : "s");
    if (simulated > 0) gpus += " (simulated)";
  }
  lines.push_back(fmt::format("serving {} with policy {}: {}", parts_->options.node,
                              parts_->options.policy, gpus));
  for (const std::string& remark : parts_->machine.remarks) lines.push_back(remark);
  lines.push_back("jobs are kept in " + ShownStore(parts_->options.store));
  for (std::size_t i = 0; i < parts_->options.doors.size(); ++i) {
    const serve::Door& door = parts_->options.doors[i];
    serve::Endpoint at = door.endpoint;
    at.port = parts_->http->Port(i);
    lines.push_back(door.kind == serve::DoorKind::kUnix
                        ? "users come in at " + door.path
                        : fmt::format("{}://{}/api/v1",
                                      door.kind == serve::DoorKind::kTls ? "https" : "http",
                                      at.Text()));
  }
  return lines;
}

}  // namespace sharewell::cli
