// A server whose jobs run on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/words.h"
#include "engine/local/container.h"
#include "engine/local/gpu_sharing.h"
#include "measure/doctor/host_speed.h"
#include "platform/files/watcher_files.h"
#include "platform/machine/cpu_topology.h"
#include "platform/process/find_program.h"
#include "server/server_parts.h"

namespace sharewell::server {

using core::Result;

bool Server::Parts::HasRealGpus() const {
  return !options.slurm && !options.kubernetes &&
         std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [](const control::GpuView& gpu) { return !gpu.simulated; });
}

// Jobs are kept to their share of the SMs by MPS: on all of its GPUs, or the policy gives none.
bool Server::Parts::KeepsShares() const {
  const char* path = std::getenv("PATH");
  const bool mps =
      platform::FindProgram(engine::SharingOptions().program, path != nullptr ? path : "")
          .has_value();
  return std::all_of(machine.gpus.begin(), machine.gpus.end(), [&](const control::GpuView& gpu) {
    return gpu.simulated || (mps && !gpu.gpu.uuid.starts_with("MIG-"));
  });
}

Result<void> CheckContainerRuntime() {
  const auto runtime = engine::FindContainerRuntime();
  if (!runtime) return core::UsageError("--image: {}", runtime.error().message);
  return {};
}

Result<void> Server::Parts::EndRuns() {
  if (!end_runs) return {};
  std::size_t left = 0;
  for (const engine::RunRequest& run : runner->Recover()) {
    runner->Stop(run.id, {options.grace});
    ++left;
  }
  const core::Seconds until = runner->Now() + options.grace + core::Seconds(10);
  while (left > 0 && runner->Now() < until) {
    std::vector<engine::RunEvent> events;
    runner->Wait(runner->Now() + core::Seconds(1), events);
    for (const engine::RunEvent& event : events) {
      const auto* ended = std::get_if<engine::RunEnded>(&event);
      if (ended == nullptr) continue;
      options.say(fmt::format("job {} of another store was ended", ended->id.job));
      runner->Forget(ended->id);
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
  const auto origin = Origin();
  RETURN_IF_ERROR(origin);
  engine::LinuxRunnerOptions run;
  run.state = options.state;
  run.store_id = jobs->Id();
  run.origin = *origin;
  run.grace = options.grace;
  run.logs.of_user = [this](std::uint32_t uid) { return settings->LimitsOf(uid).log_bytes; };
  // A server without it is worth more than none.
  const std::string watcher = options.state + "/watcher";
  if (const auto written = platform::WriteWatcher(watcher)) {
    run.watcher = watcher;
  } else {
    options.say("jobs are not watched from inside: " + written.error().message);
  }
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

void Server::Parts::MakeWatch() {
  JobWatchOptions look;
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
  watch = std::make_unique<JobWatch>(std::move(look));
  monitor = std::make_unique<WatchMonitor>(*runner, *watch);
}

// At the first start on a machine; nobody waits for it.
void Server::Parts::Calibrate() {
  calibration = std::jthread([this] {
    const auto speed = measure::MeasureHostSpeed();
    if (!speed) {
      return options.say(fmt::format(
          "what the host's memory moves was not measured: {}; `sharewell doctor --calibrate` "
          "tries again",
          speed.error().message));
    }
    if (auto kept = measure::KeepHostSpeed(options.state, measure::MachineKey(), *speed); !kept) {
      options.say(fmt::format("host: {}", kept.error().message));
    }
    service->SetMemoryBandwidth(speed->memory_bandwidth);
    options.say("host: " + measure::InWords(*speed));
  });
}

}  // namespace sharewell::server
