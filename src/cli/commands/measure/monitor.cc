#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/metrics/exposition.h"
#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "collect/gpu/gpus.h"
#include "collect/host/pod_names.h"
#include "collect/job_sources.h"
#include "collect/registry.h"
#include "control/sampling/sampler.h"
#include "control/sampling/store_writer.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/version.h"
#include "http/http_server.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/watcher_files.h"
#include "server/settings/daemon.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using std::chrono::steady_clock;

constexpr const char* kNone = "none";
// Beside dcgm-exporter's 9400 and node_exporter's 9100, so that all can run on one machine.
constexpr const char* kListen = "127.0.0.1:10400";
constexpr double kLeastInterval = 0.1;
constexpr double kMostInterval = 3600;
constexpr int kMostMonitorDays = 3650;
constexpr double kStandsStill = 10;  // intervals, and as many seconds

std::vector<api::GpuLabels> LabelsOf(const std::string& library) {
  std::vector<api::GpuLabels> labels;
  const auto gpus = collect::FindGpus(library);
  if (!gpus) return labels;
  for (const collect::GpuFacts& gpu : *gpus) {
    labels.push_back({fmt::format("{}", gpu.index), gpu.uuid, gpu.pci_bus,
                      gpu.minor.empty() ? "" : "nvidia" + gpu.minor, gpu.name});
  }
  return labels;
}

std::map<std::string, api::PodLabels> PodsHere() {
  collect::HostFiles files("/");
  std::map<std::string, api::PodLabels> pods;
  for (auto& [job, pod] : collect::ReadPodNames(files)) {
    pods[job] = {std::move(pod.name_space), std::move(pod.name)};
  }
  return pods;
}

// Processes on a GPU that belong to no job are jobs of their own, "pid 4711"; told of them, the
// source of jobs finds their figures on the host too.
void TellGpuPids(collect::DiscoveredJobs& jobs, const core::Batch& batch) {
  constexpr std::string_view kPid = "pid ";
  std::vector<int> pids;
  for (const core::Reading& reading : batch.readings) {
    if (!reading.job.starts_with(kPid) || reading.metric->instance != "gpu") continue;
    int pid = 0;
    const char* begin = reading.job.data() + kPid.size();
    std::from_chars(begin, reading.job.data() + reading.job.size(), pid);
    if (pid > 0) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  jobs.SetGpuPids(std::move(pids));
}

class MonitorCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--listen", listen_, "address that serves /metrics and /healthz")
        ->type_name("ADDRESS:PORT|none")
        ->capture_default_str();
    app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE|none");
    app.add_option("--interval", interval_, "time between readings, 0.1s or more")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--gpm", gpm_, "off leaves the GPU's performance counters to other programs")
        ->type_name("on|off")
        ->capture_default_str();
    app.add_option("--for", for_, "stop after this time (default: when it is told to)")
        ->type_name("TIME");
    app.add_option("--steps-folder", steps_.slurm, "where Slurm's jobs tell of their steps")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("--kubelet-folder", steps_.kubelet,
                   "the kubelet's --root-dir, where pods tell of their steps")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("--node", node_, "this machine's name on every sample (default: its host name)")
        ->type_name("NAME");
  }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(ReadFlags());
    // Before any thread is started, so that none of them is interrupted.
    const HoldInterrupts held;
    auto ended = Watch();
    while (server::WaitForSignal(core::Seconds(0))) {
    }
    RETURN_IF_ERROR(ended);
    return kOk;
  }

 private:
  Result<void> ReadFlags() {
    if (listen_ == kNone && store_ == kNone) {
      return UsageError("monitor: --listen none and --store none leave nothing to do");
    }
    if (listen_ != kNone) {
      const auto endpoint = http::ParseEndpoint("--listen", listen_);
      RETURN_IF_ERROR(endpoint);
      endpoint_ = *endpoint;
    }
    const auto interval = ParseTime("--interval", interval_, 1);
    RETURN_IF_ERROR(interval);
    if (interval->value < kLeastInterval || interval->value > kMostInterval) {
      return UsageError("--interval: {} is not allowed; give 0.1s to 3600s",
                        core::Quoted(interval_));
    }
    every_ = *interval;
    if (gpm_ != "on" && gpm_ != "off") {
      return UsageError("--gpm: {} is not allowed; give on or off", core::Quoted(gpm_));
    }
    if (!for_.empty()) {
      const auto time = ParseTime("--for", for_, kMostMonitorDays);
      RETURN_IF_ERROR(time);
      left_ = *time;
    }
    if (node_.empty()) node_ = server::HostName();
    return {};
  }

  // Jobs of Slurm run it from there, where our TaskProlog finds it (packaging/slurm). Only whose
  // folder it is can keep others from changing what every user's jobs run.
  void WriteWatcher() {
    struct stat folder {};
    if (has_watcher_ || ::lstat(steps_.slurm.c_str(), &folder) != 0)
      return;             // or the prolog makes it
    has_watcher_ = true;  // or it cannot be written, which is said once
    if (folder.st_uid != ::geteuid()) return;
    std::string problem = steps_.WhyDistrusted("");
    if (problem.empty()) {
      const auto written = platform::WriteWatcher(steps_.slurm + "/watcher");
      if (written) return;
      problem = written.error().message;
    }
    SayLine("jobs of Slurm are not watched from inside: " + problem);
  }

  Result<void> Watch() {
    std::unique_ptr<http::HttpServer> server;
    if (listen_ != kNone) {
      auto listening = http::HttpServer::Listen(endpoint_);
      if (!listening) {
        return core::FailedError("--listen: {}", listening.error().message);
      }
      server = std::move(*listening);
    }
    std::unique_ptr<control::StoreWriter> writer;
    if (store_ != kNone) {
      auto made = NewWriter();
      RETURN_IF_ERROR(made);
      writer = std::move(*made);
    }
    const std::string nvml = collect::GivenNvmlLibrary();

    WriteWatcher();
    collect::DiscoveredJobs jobs;
    api::Exposition page(
        node_, [&nvml] { return LabelsOf(nvml); }, control::SystemClock(), PodsHere);
    std::atomic<steady_clock::rep> moved = steady_clock::now().time_since_epoch().count();
    const auto sink = [&](const control::CollectorState& state,
                          const std::shared_ptr<const core::Batch>& batch) {
      moved = steady_clock::now().time_since_epoch().count();
      if (state.name == "nvml") TellGpuPids(jobs, *batch);
      if (state.name == "steps") WriteWatcher();
      if (server) page.Take(state, batch);
      if (writer) writer->Put(batch);
    };
    const auto told = [&](core::JobTold news) {
      news.time = platform::UnixNow();
      if (writer) writer->PutTold(std::move(news));
    };
    control::Sampler sampler(Watched(jobs, nvml, told), {sink}, SayLine);
    if (server) {
      server->Route("GET", "/metrics", [&](const http::HttpRequest&) {
        api::AgentFigures agent{sampler.States(), control::OwnCost(), {}, {}};
        if (writer) agent.store = writer->State();
        agent.version = std::string(core::kVersion);
        return http::HttpResponse{200, std::string(api::kExpositionType), page.Text(agent)};
      });
      server->Route("GET", "/healthz", [&](const http::HttpRequest&) { return Health(moved); });
      server->Start();
    }
    Greet(server.get());
    {
      const std::jthread sampling([&](const std::stop_token& stop) { sampler.Run(stop); });
      server::WaitForSignal(left_);
    }
    if (server) server->Stop();
    if (!writer) return {};
    writer->Stop();
    const auto state = writer->State();
    if (!state.up) {
      return core::FailedError("the last samples could not be stored: {}", state.problem);
    }
    return {};
  }

  // A store that is wrongly named is the user's to mend; one that is away may come back.
  Result<std::unique_ptr<control::StoreWriter>> NewWriter() {
    const std::string place = StorePlace(store_);
    auto opened = store::Open(place);
    if (!opened && opened.error().kind == core::ErrorKind::kUsage) {
      return tl::unexpected(opened.error());
    }
    return std::make_unique<control::StoreWriter>(
        node_, opened ? std::move(*opened) : nullptr, [place] { return store::Open(place); },
        SayLine);
  }

  std::vector<control::Watched> Watched(collect::DiscoveredJobs& jobs, const std::string& nvml,
                                        const collect::ToldSink& told) {
    collect::CollectorOptions options;
    options.jobs = &jobs;
    options.gpm = gpm_ == "on";
    options.nvml_library = nvml;
    options.dcgm_library = collect::GivenDcgmLibrary();
    options.steps = steps_;
    options.told = told;
    std::vector<control::Watched> watched;
    for (auto& collector : collect::AllCollectors(options)) {
      watched.push_back({std::move(collector), every_});
    }
    return watched;
  }

  http::HttpResponse Health(steady_clock::rep moved) const {
    const std::chrono::duration<double> since =
        steady_clock::now().time_since_epoch() - steady_clock::duration(moved);
    if (since.count() < kStandsStill * std::max(1.0, every_.value)) {
      return {200, "text/plain; charset=utf-8", "ok\n"};
    }
    return {503, "text/plain; charset=utf-8",
            fmt::format("no reading succeeded for {:.0f} s\n", since.count())};
  }

  void Greet(const http::HttpServer* server) {
    if (server != nullptr) {
      endpoint_.port = server->Port();
      if (!endpoint_.Loopback()) {
        SayLine(
            fmt::format("{} can be reached from other machines: whoever reaches it can read all "
                        "metrics, names of "
                        "jobs included",
                        endpoint_.Text()));
      }
    }
    SayLine(fmt::format(
        "watching {} every {}{}{}", node_, interval_,
        server != nullptr ? fmt::format("; http://{}/metrics", endpoint_.Text()) : "",
        store_ != kNone ? "; samples go to " + store::WithoutPassword(StorePlace(store_)) : ""));
  }

  std::string listen_ = kListen;
  std::string store_;
  std::string interval_ = "1s";
  std::string gpm_ = "on";
  std::string for_, node_;
  collect::StepsFolders steps_;
  http::Endpoint endpoint_;
  core::Seconds every_{1};
  std::optional<core::Seconds> left_;  // absent: for ever
  bool has_watcher_ = false;
};

}  // namespace

std::unique_ptr<Command> NewMonitorCommand() { return std::make_unique<MonitorCommand>(); }

}  // namespace sharewell::cli
