// Jobs run on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/words.h"
#include "engine/local/container.h"
#include "engine/local/gpu_sharing.h"
#include "engine/local/linux_runner.h"
#include "measure/doctor/host_speed.h"
#include "platform/files/watcher_files.h"
#include "platform/machine/cpu_topology.h"
#include "platform/process/find_program.h"
#include "server/backend.h"
#include "server/live/watch_monitor.h"

namespace sharewell::server {

using core::Result;

namespace {

class LocalBackend final : public Backend {
 public:
  LocalBackend(const ServerOptions& options, const catalogue::GpuCatalogue& catalogue,
               MachineHere machine)
      : Backend(options, catalogue) {
    face_.machine = std::move(machine);
  }

  Result<void> Open(const BackendNeeds& needs) override;
  void Watch(JobWatchOptions look) override;
  void Stop() override { watch_.reset(); }

 private:
  Result<void> EndRuns();

  std::unique_ptr<engine::LinuxRunner> runner_;
  std::unique_ptr<JobWatch> watch_;
  std::unique_ptr<WatchMonitor> monitor_;
};

// Jobs are kept to their share of the SMs by MPS: on all of its GPUs, or the policy gives none.
bool KeepsShares(const std::vector<control::GpuView>& gpus) {
  const char* path = std::getenv("PATH");
  const bool mps =
      platform::FindProgram(engine::SharingOptions().program, path != nullptr ? path : "")
          .has_value();
  return std::all_of(gpus.begin(), gpus.end(), [&](const control::GpuView& gpu) {
    return gpu.simulated || (mps && !gpu.gpu.uuid.starts_with("MIG-"));
  });
}

std::string GpusServed(const std::vector<control::GpuView>& gpus) {
  if (gpus.empty()) return "no GPU: CPU-only jobs run here";
  const bool simulated = std::any_of(gpus.begin(), gpus.end(),
                                     [](const control::GpuView& gpu) { return gpu.simulated; });
  return core::Count(gpus.size(), "GPU") + (simulated ? " (simulated)" : "");
}

Result<void> CheckContainerRuntime() {
  const auto runtime = engine::FindContainerRuntime();
  if (!runtime) return core::UsageError("--image: {}", runtime.error().message);
  return {};
}

Result<void> LocalBackend::EndRuns() {
  std::size_t left = 0;
  for (const engine::RunRequest& run : runner_->Recover()) {
    runner_->Stop(run.id, {options_.grace});
    ++left;
  }
  const core::Seconds until = runner_->Now() + options_.grace + core::Seconds(10);
  while (left > 0 && runner_->Now() < until) {
    std::vector<engine::RunEvent> events;
    runner_->Wait(runner_->Now() + core::Seconds(1), events);
    for (const engine::RunEvent& event : events) {
      const auto* ended = std::get_if<engine::RunEnded>(&event);
      if (ended == nullptr) continue;
      options_.log(fmt::format("job {} of another store was ended", ended->id.job));
      runner_->Forget(ended->id);
      --left;
    }
  }
  if (left > 0) {
    return core::FailedError("{} of another store did not end; end them by hand, then try again",
                             core::Count(left, "run", "runs"));
  }
  return {};
}

Result<void> LocalBackend::Open(const BackendNeeds& needs) {
  MachineHere& machine = face_.machine;
  // Simulated GPUs contend for nothing on this host, and without GPUs nobody gives way.
  const bool real = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                [](const control::GpuView& gpu) { return !gpu.simulated; });
  if (real) {
    const auto host = measure::KeptHostSpeed(options_.state, measure::MachineKey());
    if (host) machine.cluster.ShareOutMemoryBandwidth(host->memory_bandwidth);
    face_.measure_host = !host;
  }
  const auto origin = OriginOf(needs.jobs);
  RETURN_IF_ERROR(origin);
  engine::LinuxRunnerOptions run;
  run.state = options_.state;
  run.store_id = needs.jobs.Id();
  run.origin = *origin;
  run.grace = options_.grace;
  run.logs.of_user = [&settings = needs.settings](std::uint32_t uid) {
    return settings.LimitsOf(uid).log_bytes;
  };
  // A server without it is worth more than none.
  const std::string watcher = options_.state + "/watcher";
  if (const auto written = platform::WriteWatcher(watcher)) {
    run.watcher = watcher;
  } else {
    options_.log("jobs are not watched from inside: " + written.error().message);
  }
  std::vector<int> nodes;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::string& bus = machine.pci_buses[i];
    const auto node = bus.empty() ? std::nullopt : platform::PciNumaNode(bus);
    if (!node) continue;
    run.gpu_nodes[machine.gpus[i].gpu.uuid] = *node;
    nodes.push_back(*node);
  }
  if (!machine.simulated_cores) run.cpus = engine::CpuRoom::LayoutHere(std::move(nodes));
  if (real) run.lost_gpus = [this] { return watch_->Lost(); };  // there before anything runs
  if (real) run.sharing = engine::SharingOptions{.folder = run.state + "/mps"};
  auto opened = engine::LinuxRunner::Open(std::move(run));
  RETURN_IF_ERROR(opened);
  runner_ = std::move(*opened);
  if (needs.takes_over) {
    RETURN_IF_ERROR(EndRuns());
    RETURN_IF_ERROR(SetOwner(options_.state, *needs.takes_over));
  }
  face_.runner = runner_.get();
  face_.pauser = runner_.get();
  face_.logs = &runner_->ledger();
  face_.keeps_sm_shares = KeepsShares(machine.gpus);
  face_.check_images = CheckContainerRuntime;
  face_.serves = GpusServed(machine.gpus);
  return {};
}

void LocalBackend::Watch(JobWatchOptions look) {
  const MachineHere& machine = face_.machine;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const core::GivenGpu& gpu = machine.gpus[i].gpu;
    look.gpus.push_back({gpu.uuid, machine.instances[i], gpu.model});
  }
  // What works is not worth a line each; what does not, or does again, is.
  look.log = [this](const std::string& line) {
    if (!line.ends_with(": works")) options_.log(line);
  };
  watch_ = std::make_unique<JobWatch>(std::move(look));
  monitor_ = std::make_unique<WatchMonitor>(*runner_, *watch_);
  face_.watch = watch_.get();
  face_.monitor = monitor_.get();
}

}  // namespace

Result<std::unique_ptr<Backend>> NewLocalBackend(const ServerOptions& options,
                                                 const catalogue::GpuCatalogue& catalogue) {
  auto machine =
      FindMachine({.gpus = options.gpus, .nvml_library = collect::GivenNvmlLibrary()}, catalogue);
  RETURN_IF_ERROR(machine);
  return std::make_unique<LocalBackend>(options, catalogue, std::move(*machine));
}

}  // namespace sharewell::server
